package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"
)

func applyChecks() []check {
	return []check{
		{"server-side apply creates, conflicts and takes over by force", applyTogether},
		{"the fields of a manager can be extracted and removed", applyExtracted},
		{"managed fields can be read by the server's own OpenAPI", applyUnstructured},
	}
}

func applyOptions(manager string, force bool) metav1.ApplyOptions {
	return metav1.ApplyOptions{FieldManager: manager, Force: force}
}

func applyTogether(ctx context.Context, w *world) (string, error) {
	maps := w.client.CoreV1().ConfigMaps(w.namespace)
	wish := func(value string) *coreapply.ConfigMapApplyConfiguration {
		return coreapply.ConfigMap("applied", w.namespace).WithData(map[string]string{"shared": value})
	}
	first, err := maps.Apply(ctx, wish("1"), applyOptions("one", false))
	if err != nil {
		return "", err
	}
	same, err := maps.Apply(ctx, wish("1"), applyOptions("one", false))
	if err != nil {
		return "", err
	}
	if same.ResourceVersion != first.ResourceVersion {
		return "", fmt.Errorf("applying the same again wrote a new version")
	}
	_, err = maps.Apply(ctx, wish("2"), applyOptions("two", false))
	wanted := `Apply failed with 1 conflict: conflict with "one": .data.shared`
	if !apierrors.IsConflict(err) || err.Error() != wanted {
		return "", fmt.Errorf("another manager's value gives %v", err)
	}
	forced, err := maps.Apply(ctx, wish("2"), applyOptions("two", true))
	if err != nil {
		return "", err
	}
	if forced.Data["shared"] != "2" {
		return "", fmt.Errorf("by force it became %v", forced.Data)
	}
	return wanted, nil
}

func applyExtracted(ctx context.Context, w *world) (string, error) {
	deployments := w.client.AppsV1().Deployments(w.namespace)
	labels := map[string]string{"app": "extracted"}
	wish := appsapply.Deployment("extracted", w.namespace).WithLabels(map[string]string{"team": "a"}).
		WithSpec(appsapply.DeploymentSpec().WithReplicas(0).
			WithSelector(metaapply.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(coreapply.PodTemplateSpec().WithLabels(labels).
				WithSpec(coreapply.PodSpec().WithContainers(
					coreapply.Container().WithName("web").WithImage("web:1").
						WithPorts(coreapply.ContainerPort().WithContainerPort(80).WithProtocol(corev1.ProtocolTCP)),
				))))
	applied, err := deployments.Apply(ctx, wish, applyOptions("owner", false))
	if err != nil {
		return "", err
	}
	extracted, err := appsapply.ExtractDeployment(applied, "owner")
	if err != nil {
		return "", err
	}
	containers := extracted.Spec.Template.Spec.Containers
	if len(containers) != 1 || *containers[0].Image != "web:1" || len(containers[0].Ports) != 1 {
		return "", fmt.Errorf("extracted %+v", containers)
	}
	if extracted.Spec.Strategy != nil {
		return "", fmt.Errorf("a default belongs to the manager that did not set it")
	}
	extracted.Labels = nil
	after, err := deployments.Apply(ctx, extracted, applyOptions("owner", false))
	if err != nil {
		return "", err
	}
	if len(after.Labels) != 0 {
		return "", fmt.Errorf("what the manager no longer applies stayed: %v", after.Labels)
	}
	return "containers, ports and labels", nil
}

func applyUnstructured(ctx context.Context, w *world) (string, error) {
	extractor, err := metaapply.NewUnstructuredExtractor(w.client.Discovery())
	if err != nil {
		return "", err
	}
	gvr := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	object, err := w.dynamic.Resource(gvr).Namespace(w.namespace).Get(ctx, "extracted", metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	extracted, err := extractor.Extract(object, "owner")
	if err != nil {
		return "", err
	}
	spec, ok := extracted.Object["spec"].(map[string]any)
	if !ok || spec["replicas"] != int64(0) {
		return "", fmt.Errorf("extracted %v", extracted.Object)
	}
	return "read", nil
}
