package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
)

func eventChecks() []check {
	return []check{{"events recorded in events.k8s.io are core events too", recordEvents}}
}

// eventually gives a server that is told of changes a while to act on them.
func eventually(ctx context.Context, try func() error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 10*time.Second, true,
		func(context.Context) (bool, error) {
			last = try()
			return last == nil, nil
		})
	if err != nil && last != nil {
		return last
	}
	return err
}

func recordEvents(ctx context.Context, w *world) (string, error) {
	about, err := w.client.CoreV1().ConfigMaps(w.namespace).Create(ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "about"}}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: w.client.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return "", err
	}
	defer broadcaster.Shutdown()
	recorder := broadcaster.NewRecorder(scheme.Scheme, "lockstep.test/clientgo")
	record := func() {
		recorder.Eventf(about, nil, corev1.EventTypeNormal, "Checked", "Checking", "as often as it was seen")
	}
	record()
	if _, err := recordedEvent(ctx, w, func(*eventsv1.Event) bool { return true }); err != nil {
		return "", err
	}
	// The second of a kind becomes a series of the first.
	record()
	recorded, err := recordedEvent(ctx, w, func(one *eventsv1.Event) bool { return one.Series != nil })
	if err != nil {
		return "", err
	}
	core, err := w.client.CoreV1().Events(w.namespace).Get(ctx, recorded.Name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if core.InvolvedObject.Name != "about" || core.Message != recorded.Note || core.ResourceVersion != recorded.ResourceVersion {
		return "", fmt.Errorf("as a core event it is %+v", core)
	}
	return fmt.Sprintf("%s, %d times", recorded.Reason, recorded.Series.Count), nil
}

// recordedEvent waits for the event about the object to be as wanted.
func recordedEvent(ctx context.Context, w *world, wanted func(*eventsv1.Event) bool) (*eventsv1.Event, error) {
	var recorded *eventsv1.Event
	err := eventually(ctx, func() error {
		list, err := w.client.EventsV1().Events(w.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for index := range list.Items {
			if one := &list.Items[index]; one.Regarding.Name == "about" && wanted(one) {
				recorded = one
				return nil
			}
		}
		return fmt.Errorf("%d events, none of them as wanted", len(list.Items))
	})
	return recorded, err
}
