package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
)

func writeChecks() []check {
	return []check{
		{"writers that retry on conflict lose no update", countTogether},
		{"a strategic merge patch merges containers by name", patchContainers},
		{"a dry run changes nothing", dryRun},
		{"unknown fields are refused when the client is strict", strictFields},
	}
}

func countTogether(ctx context.Context, w *world) (string, error) {
	const writers, each = 4, 10
	maps := w.client.CoreV1().ConfigMaps(w.namespace)
	counter := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "counter"}, Data: map[string]string{"n": "0"}}
	stale, err := maps.Create(ctx, counter, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	increment := func() error {
		current, err := maps.Get(ctx, "counter", metav1.GetOptions{})
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(current.Data["n"])
		if err != nil {
			return err
		}
		current.Data["n"] = strconv.Itoa(n + 1)
		_, err = maps.Update(ctx, current, metav1.UpdateOptions{})
		return err
	}
	// Every writer may lose to each of the others every time.
	patience := retry.DefaultRetry
	patience.Steps = writers * each
	failures := make(chan error, writers*each)
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for range each {
				failures <- retry.RetryOnConflict(patience, increment)
			}
		})
	}
	group.Wait()
	close(failures)
	for failure := range failures {
		if failure != nil {
			return "", failure
		}
	}
	final, err := maps.Get(ctx, "counter", metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if final.Data["n"] != strconv.Itoa(writers*each) {
		return "", fmt.Errorf("counted to %s", final.Data["n"])
	}
	stale.Data["n"] = "-1"
	if _, err := maps.Update(ctx, stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		return "", fmt.Errorf("an update of an old version gives %v", err)
	}
	return "counted to " + final.Data["n"], nil
}

// webDeployment keeps to zero replicas: no controller shall have anything to do for it.
func webDeployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	replicas := int32(0)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{
					{Name: "web", Image: "web:1"},
					{Name: "log", Image: "log:1"},
				}},
			},
		},
	}
}

func patchContainers(ctx context.Context, w *world) (string, error) {
	deployments := w.client.AppsV1().Deployments(w.namespace)
	if _, err := deployments.Create(ctx, webDeployment("merged"), metav1.CreateOptions{}); err != nil {
		return "", err
	}
	patch := `{"spec":{"template":{"spec":{
		"$setElementOrder/containers":[{"name":"new"},{"name":"web"}],
		"containers":[{"name":"new","image":"new:1"},{"name":"log","$patch":"delete"}]}}}}`
	patched, err := deployments.Patch(ctx, "merged", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		return "", err
	}
	var names []string
	for _, container := range patched.Spec.Template.Spec.Containers {
		names = append(names, container.Name)
	}
	if fmt.Sprint(names) != "[new web]" {
		return "", fmt.Errorf("the containers are %v", names)
	}
	return fmt.Sprint(names), nil
}

func dryRun(ctx context.Context, w *world) (string, error) {
	maps := w.client.CoreV1().ConfigMaps(w.namespace)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "dry-"}}
	options := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	made, err := maps.Create(ctx, object, options)
	if err != nil {
		return "", err
	}
	if made.Name == "" || made.UID == "" {
		return "", fmt.Errorf("the answer has name %q and uid %q", made.Name, made.UID)
	}
	if _, err := maps.Get(ctx, made.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("a get after the dry run gives %v", err)
	}
	kept, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	if err := maps.Delete(ctx, "kept", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		return "", err
	}
	after, err := maps.Get(ctx, "kept", metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if after.ResourceVersion != kept.ResourceVersion {
		return "", errors.New("a dry run of a deletion has changed the object")
	}
	return made.Name, nil
}

func strictFields(ctx context.Context, w *world) (string, error) {
	body := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"strict"},"dota":{},"data":{"a":"1","a":"2"}}`
	err := w.client.CoreV1().RESTClient().Post().Namespace(w.namespace).Resource("configmaps").
		Param("fieldValidation", "Strict").SetHeader("Content-Type", "application/json").
		Body([]byte(body)).Do(ctx).Error()
	wanted := `ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: ` +
		`unknown field "dota", duplicate field "data.a"`
	if err == nil || err.Error() != wanted {
		return "", fmt.Errorf("refused with %v", err)
	}
	return "refused", nil
}
