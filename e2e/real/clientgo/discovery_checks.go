package main

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/openapi3"
	"k8s.io/client-go/restmapper"
)

func discoveryChecks() []check {
	return []check{
		{"discovery says the same aggregated and group by group", sameDiscovery},
		{"a REST mapper finds resources by kind and by short name", mapResources},
		{"OpenAPI v2 has every kind that discovery has", openAPIv2},
		{"OpenAPI v3 has types and operations, under hashes that stay valid", openAPIv3},
	}
}

func sameDiscovery(_ context.Context, w *world) (string, error) {
	client, err := discovery.NewDiscoveryClientForConfig(w.config)
	if err != nil {
		return "", err
	}
	aggregated, err := resourceNames(client)
	if err != nil {
		return "", err
	}
	if groups := w.requests.count("GET /apis/apps/v1"); groups != 0 {
		return "", errors.New("the server does not speak aggregated discovery")
	}
	client.UseLegacyDiscovery = true
	plain, err := resourceNames(client)
	if err != nil {
		return "", err
	}
	if strings.Join(aggregated, " ") != strings.Join(plain, " ") {
		return "", fmt.Errorf("aggregated %v, but group by group %v", aggregated, plain)
	}
	for _, wanted := range []string{
		"apps/v1 deployments/scale Scale [get patch update]",
		"discovery.k8s.io/v1 endpointslices EndpointSlice " +
			"[create delete deletecollection get list patch update watch]",
		"v1 pods/log Pod [get]",
	} {
		if index := sort.SearchStrings(plain, wanted); index == len(plain) || plain[index] != wanted {
			return "", fmt.Errorf("%q is missing", wanted)
		}
	}
	return fmt.Sprintf("%d resources", len(plain)), nil
}

func resourceNames(client *discovery.DiscoveryClient) ([]string, error) {
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, list := range lists {
		for _, resource := range list.APIResources {
			name := fmt.Sprintf("%s %s %s %v", list.GroupVersion, resource.Name, resource.Kind, resource.Verbs)
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names, nil
}

func mapResources(_ context.Context, w *world) (string, error) {
	cached := memory.NewMemCacheClient(w.client.Discovery())
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(cached)
	mapping, err := mapper.RESTMapping(schema.GroupKind{Group: "apps", Kind: "Deployment"})
	if err != nil {
		return "", err
	}
	if mapping.Resource.Resource != "deployments" || mapping.Scope.Name() != "namespace" {
		return "", fmt.Errorf("Deployment is %v in scope %s", mapping.Resource, mapping.Scope.Name())
	}
	expander := restmapper.NewShortcutExpander(mapper, cached, nil)
	for short, long := range map[string]string{"po": "pods", "svc": "services", "deploy": "deployments"} {
		found, err := expander.ResourceFor(schema.GroupVersionResource{Resource: short})
		if err != nil {
			return "", err
		}
		if found.Resource != long {
			return "", fmt.Errorf("%s means %s", short, found.Resource)
		}
	}
	return mapping.Resource.String(), nil
}

func openAPIv2(_ context.Context, w *world) (string, error) {
	document, err := w.client.Discovery().OpenAPISchema()
	if err != nil {
		return "", err
	}
	kinds := map[string]bool{}
	for _, definition := range document.GetDefinitions().GetAdditionalProperties() {
		for _, extension := range definition.GetValue().GetVendorExtension() {
			if extension.GetName() == "x-kubernetes-group-version-kind" {
				kinds[definition.GetName()] = true
			}
		}
	}
	for _, wanted := range []string{"io.k8s.api.core.v1.Pod", "io.k8s.api.apps.v1.DeploymentList"} {
		if !kinds[wanted] {
			return "", fmt.Errorf("%s has no group, version and kind", wanted)
		}
	}
	if len(document.GetPaths().GetPath()) == 0 {
		return "", errors.New("there are no paths")
	}
	return fmt.Sprintf("%d definitions", len(document.GetDefinitions().GetAdditionalProperties())), nil
}

func openAPIv3(_ context.Context, w *world) (string, error) {
	root := openapi3.NewRoot(w.client.Discovery().OpenAPIV3())
	spec, err := root.GVSpec(schema.GroupVersion{Group: "apps", Version: "v1"})
	if err != nil {
		return "", err
	}
	deployment := spec.Components.Schemas["io.k8s.api.apps.v1.DeploymentSpec"]
	if deployment == nil || len(deployment.Properties["template"].AllOf) != 1 {
		return "", fmt.Errorf("DeploymentSpec is %v", deployment)
	}
	containers := spec.Components.Schemas["io.k8s.api.core.v1.PodSpec"].Properties["containers"]
	if key, _ := containers.Extensions.GetString("x-kubernetes-patch-merge-key"); key != "name" {
		return "", fmt.Errorf("the merge key of containers is %q", key)
	}
	path := spec.Paths.Paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]
	if path == nil || path.Patch == nil {
		return "", errors.New("a deployment cannot be patched")
	}
	parameters := map[string]bool{}
	for _, parameter := range path.Patch.Parameters {
		parameters[parameter.Name] = true
	}
	for _, wanted := range []string{"dryRun", "fieldManager", "fieldValidation", "force"} {
		if !parameters[wanted] {
			return "", fmt.Errorf("a patch has no parameter %s", wanted)
		}
	}
	if w.requests.count("/openapi/v3/apis/apps/v1?hash=") == 0 {
		return "", errors.New("the index has no hashes")
	}
	return fmt.Sprintf("%d types", len(spec.Components.Schemas)), nil
}
