package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

func deletionChecks() []check {
	return []check{
		{"deletion waits as its propagation policy requires", deletePropagation},
		{"deletion of a collection is seen by its watchers", deleteCollection},
	}
}

// deletePropagation reads what DELETE answers: soon after, a garbage collector may have acted.
func deletePropagation(ctx context.Context, w *world) (string, error) {
	finalizers := map[metav1.DeletionPropagation]string{
		metav1.DeletePropagationForeground: metav1.FinalizerDeleteDependents,
		metav1.DeletePropagationOrphan:     metav1.FinalizerOrphanDependents,
		metav1.DeletePropagationBackground: "",
	}
	maps := w.client.CoreV1().ConfigMaps(w.namespace)
	for policy, finalizer := range finalizers {
		name := "deleted-" + string(policy[0]|0x20)
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := maps.Create(ctx, made, metav1.CreateOptions{}); err != nil {
			return "", err
		}
		body, err := w.client.CoreV1().RESTClient().Delete().Namespace(w.namespace).
			Resource("configmaps").Name(name).SetHeader("Accept", "application/json").
			Body(&metav1.DeleteOptions{PropagationPolicy: &policy}).Do(ctx).Raw()
		if err != nil {
			return "", err
		}
		var answer struct {
			Kind     string            `json:"kind"`
			Metadata metav1.ObjectMeta `json:"metadata"`
		}
		if err := json.Unmarshal(body, &answer); err != nil {
			return "", err
		}
		isKept := answer.Kind == "ConfigMap"
		if isKept != (finalizer != "") {
			return "", fmt.Errorf("%s answers with a %s", policy, answer.Kind)
		}
		if isKept && (!slices.Contains(answer.Metadata.Finalizers, finalizer) || answer.Metadata.DeletionTimestamp == nil) {
			return "", fmt.Errorf("%s gives %+v", policy, answer.Metadata)
		}
	}
	return "foreground, orphan and background", nil
}

func deleteCollection(ctx context.Context, w *world) (string, error) {
	maps := w.client.CoreV1().ConfigMaps(w.namespace)
	options := metav1.ListOptions{LabelSelector: pagedLabel}
	list, err := maps.List(ctx, options)
	if err != nil {
		return "", err
	}
	stream, err := maps.Watch(ctx, metav1.ListOptions{
		LabelSelector: pagedLabel, ResourceVersion: list.ResourceVersion,
	})
	if err != nil {
		return "", err
	}
	defer stream.Stop()
	if err := maps.DeleteCollection(ctx, metav1.DeleteOptions{}, options); err != nil {
		return "", err
	}
	for range list.Items {
		select {
		case event := <-stream.ResultChan():
			if event.Type != watch.Deleted {
				return "", fmt.Errorf("a %s event", event.Type)
			}
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	return fmt.Sprintf("%d deleted", len(list.Items)), nil
}
