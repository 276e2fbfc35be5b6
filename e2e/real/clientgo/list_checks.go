package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/pager"
)

func listChecks() []check {
	return []check{
		{"pages are parts of one consistent list", pages},
		{"a streamed list ends with a bookmark", streamedList},
		{"a watch from a version that is gone is refused", expiredWatch},
	}
}

const pagedLabel = "paged=yes"

func pages(ctx context.Context, w *world) (string, error) {
	maps := w.client.CoreV1().ConfigMaps(w.namespace)
	for index := range 7 {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name:   fmt.Sprintf("page-%d", index),
			Labels: map[string]string{"paged": "yes"},
		}}
		if _, err := maps.Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return "", err
		}
	}
	versions := map[string]bool{}
	fetched := 0
	p := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		list, err := maps.List(ctx, options)
		if err == nil {
			versions[list.ResourceVersion] = true
			fetched++
			if fetched == 1 {
				// Made between two pages, so none of them may have it.
				late := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
					Name:   "page-late",
					Labels: map[string]string{"paged": "yes"},
				}}
				_, err = maps.Create(ctx, late, metav1.CreateOptions{})
			}
		}
		return list, err
	})
	p.PageSize = 3
	var names []string
	err := p.EachListItem(ctx, metav1.ListOptions{LabelSelector: pagedLabel}, func(object runtime.Object) error {
		names = append(names, object.(*corev1.ConfigMap).Name)
		return nil
	})
	if err != nil {
		return "", err
	}
	if fetched != 3 || len(versions) != 1 || len(names) != 7 {
		return "", fmt.Errorf("%d pages, %d versions, %v", fetched, len(versions), names)
	}
	return fmt.Sprintf("%d pages", fetched), nil
}

func streamedList(ctx context.Context, w *world) (string, error) {
	sendInitialEvents := true
	stream, err := w.client.CoreV1().ConfigMaps(w.namespace).Watch(ctx, metav1.ListOptions{
		LabelSelector:        pagedLabel,
		SendInitialEvents:    &sendInitialEvents,
		AllowWatchBookmarks:  true,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	if err != nil {
		return "", err
	}
	defer stream.Stop()
	added := 0
	for event := range stream.ResultChan() {
		switch event.Type {
		case watch.Added:
			added++
		case watch.Bookmark:
			bookmark := event.Object.(*corev1.ConfigMap)
			if bookmark.Annotations[metav1.InitialEventsAnnotationKey] != "true" {
				return "", fmt.Errorf("the bookmark has %v", bookmark.Annotations)
			}
			if added != 8 || bookmark.ResourceVersion == "" {
				return "", fmt.Errorf("%d objects, then version %q", added, bookmark.ResourceVersion)
			}
			return fmt.Sprintf("%d objects and a bookmark", added), nil
		default:
			return "", fmt.Errorf("unexpected %v", event)
		}
	}
	return "", errors.New("the stream ended before its bookmark")
}

func expiredWatch(ctx context.Context, w *world) (string, error) {
	options := metav1.ListOptions{Limit: 1, Continue: "made up"}
	_, err := w.client.CoreV1().ConfigMaps(w.namespace).List(ctx, options)
	if !apierrors.IsBadRequest(err) {
		return "", fmt.Errorf("a made-up continue token gives %v", err)
	}
	stream, err := w.client.CoreV1().ConfigMaps(w.namespace).Watch(ctx, metav1.ListOptions{
		ResourceVersion: "1",
	})
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return "410 as the answer", nil
	}
	if err != nil {
		return "", err
	}
	defer stream.Stop()
	// A server that still has all of its history may serve it.
	event := <-stream.ResultChan()
	if event.Type == watch.Error {
		if err := apierrors.FromObject(event.Object); !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			return "", err
		}
		return "410 as an event", nil
	}
	return "served from history", nil
}
