package main

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/features"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

func informerChecks() []check {
	return []check{
		{"shared informers follow pods, services and slices with WatchList", informersWithWatchList},
		{"shared informers follow pods, services and slices with lists", informersWithLists},
		{"a dynamic informer follows config maps", dynamicInformer},
		{"a metadata informer follows config maps", metadataInformer},
	}
}

// clientFeatures lets a check choose how client-go fetches what an informer begins with.
type clientFeatures struct {
	before    features.Gates
	watchList atomic.Bool
}

func (f *clientFeatures) Enabled(key features.Feature) bool {
	if key == features.WatchListClient {
		return f.watchList.Load()
	}
	return f.before.Enabled(key)
}

var gates = func() *clientFeatures {
	own := &clientFeatures{before: features.FeatureGates()}
	own.watchList.Store(true)
	features.ReplaceFeatureGates(own)
	return own
}()

func informersWithWatchList(ctx context.Context, w *world) (string, error) {
	gates.watchList.Store(true)
	detail, err := followTyped(ctx, w, "streamed")
	if err == nil && w.requests.count("/pods?", "sendInitialEvents=true") != 1 {
		err = fmt.Errorf("%d streams of pods", w.requests.count("/pods?", "sendInitialEvents=true"))
	}
	if err == nil && w.requests.count("GET", "/pods?", "limit=") != 0 {
		err = fmt.Errorf("client-go fell back to lists of pods")
	}
	return detail, err
}

func informersWithLists(ctx context.Context, w *world) (string, error) {
	gates.watchList.Store(false)
	defer gates.watchList.Store(true)
	detail, err := followTyped(ctx, w, "listed")
	if err == nil && w.requests.count("/pods?", "sendInitialEvents=true") != 0 {
		err = fmt.Errorf("client-go streamed pods")
	}
	return detail, err
}

// followTyped lets informers begin with some objects, changes them, and compares what the informers
// hold in the end with a list.
func followTyped(ctx context.Context, w *world, prefix string) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, name := range []string{"a", "b"} {
		if err := createAll(ctx, w, prefix+"-"+name); err != nil {
			return "", err
		}
	}
	factory := informers.NewSharedInformerFactoryWithOptions(w.client, 0,
		informers.WithNamespace(w.namespace))
	pods := factory.Core().V1().Pods().Informer()
	services := factory.Core().V1().Services().Informer()
	slices := factory.Discovery().V1().EndpointSlices().Informer()
	seen := &eventCount{}
	if _, err := pods.AddEventHandler(seen.handler()); err != nil {
		return "", err
	}
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return "", fmt.Errorf("the informer of %v did not sync", kind)
		}
	}
	if err := createAll(ctx, w, prefix+"-c"); err != nil {
		return "", err
	}
	patch := []byte(`{"metadata":{"labels":{"changed":"yes"}}}`)
	if _, err := w.client.CoreV1().Pods(w.namespace).Patch(ctx, prefix+"-a",
		"application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
		return "", err
	}
	now := int64(0)
	if err := w.client.CoreV1().Pods(w.namespace).Delete(ctx, prefix+"-b",
		metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		return "", err
	}
	for _, informer := range []cache.SharedIndexInformer{pods, services, slices} {
		if err := untilSame(ctx, w, informer); err != nil {
			return "", err
		}
	}
	return seen.String(), seen.atLeast(3, 1, 1)
}

// createAll makes a pod, a service and an endpoint slice of one name.
func createAll(ctx context.Context, w *world, name string) error {
	meta := metav1.ObjectMeta{Name: name}
	pod := &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{
		// Nobody's: a scheduler must not place it while it is being watched.
		SchedulerName: "nobody",
		Containers:    []corev1.Container{{Name: "c", Image: "i"}},
	}}
	if _, err := w.client.CoreV1().Pods(w.namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return err
	}
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		Ports: []corev1.ServicePort{{Port: 80}},
	}}
	if _, err := w.client.CoreV1().Services(w.namespace).Create(ctx, service, metav1.CreateOptions{}); err != nil {
		return err
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  meta,
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.1.2.3"}}},
	}
	_, err := w.client.DiscoveryV1().EndpointSlices(w.namespace).Create(ctx, slice, metav1.CreateOptions{})
	return err
}

// untilSame waits until the informer holds exactly what a list has.
func untilSame(ctx context.Context, w *world, informer cache.SharedIndexInformer) error {
	var have, want []string
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		have, want = nil, nil
		resource := ""
		for _, object := range informer.GetStore().List() {
			switch one := object.(type) {
			case *corev1.Pod:
				resource, have = "pods", append(have, one.Name+" "+one.ResourceVersion)
			case *corev1.Service:
				resource, have = "services", append(have, one.Name+" "+one.ResourceVersion)
			case *discoveryv1.EndpointSlice:
				resource, have = "endpointslices", append(have, one.Name+" "+one.ResourceVersion)
			}
		}
		if resource == "" {
			return false, nil
		}
		var err error
		want, err = listedVersions(ctx, w, resource)
		sort.Strings(have)
		return strings.Join(have, " ") == strings.Join(want, " "), err
	})
	if err != nil {
		return fmt.Errorf("the informer has %v, the server %v: %w", have, want, err)
	}
	return nil
}

func listedVersions(ctx context.Context, w *world, resource string) ([]string, error) {
	group := map[string]string{"endpointslices": "discovery.k8s.io"}[resource]
	gvr := schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}
	list, err := w.metadata.Resource(gvr).Namespace(w.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var versions []string
	for _, item := range list.Items {
		versions = append(versions, item.Name+" "+item.ResourceVersion)
	}
	sort.Strings(versions)
	return versions, nil
}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func dynamicInformer(ctx context.Context, w *world) (string, error) {
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(w.dynamic, 0, w.namespace, nil)
	return followConfigMaps(ctx, w, "dynamic", factory.ForResource(configMaps).Informer())
}

func metadataInformer(ctx context.Context, w *world) (string, error) {
	factory := metadatainformer.NewFilteredSharedInformerFactory(w.metadata, 0, w.namespace, nil)
	return followConfigMaps(ctx, w, "metadata", factory.ForResource(configMaps).Informer())
}

func followConfigMaps(
	ctx context.Context,
	w *world,
	name string,
	informer cache.SharedIndexInformer,
) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	seen := &eventCount{name: name}
	if _, err := informer.AddEventHandler(seen.handler()); err != nil {
		return "", err
	}
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return "", fmt.Errorf("the informer did not sync")
	}
	maps := w.client.CoreV1().ConfigMaps(w.namespace)
	made, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	made.Data = map[string]string{"a": "1"}
	if _, err := maps.Update(ctx, made, metav1.UpdateOptions{}); err != nil {
		return "", err
	}
	if err := maps.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return "", err
	}
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 10*time.Second, true,
		func(context.Context) (bool, error) { return seen.atLeast(1, 1, 1) == nil, nil })
	if err != nil {
		return "", seen.atLeast(1, 1, 1)
	}
	return seen.String(), nil
}

// eventCount counts what a handler is told, of one object or of all.
type eventCount struct {
	name                    string
	mutex                   sync.Mutex
	added, updated, deleted int
}

func (c *eventCount) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { c.note(object, &c.added) },
		UpdateFunc: func(_, object any) { c.note(object, &c.updated) },
		DeleteFunc: func(object any) { c.note(object, &c.deleted) },
	}
}

func (c *eventCount) note(object any, counter *int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if one, ok := object.(metav1.Object); !ok || c.name == "" || one.GetName() == c.name {
		*counter++
	}
}

func (c *eventCount) atLeast(added, updated, deleted int) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.added < added || c.updated < updated || c.deleted < deleted {
		return fmt.Errorf("only %d added, %d updated, %d deleted", c.added, c.updated, c.deleted)
	}
	return nil
}

func (c *eventCount) String() string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return fmt.Sprintf("%d added, %d updated, %d deleted", c.added, c.updated, c.deleted)
}
