package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func leaderChecks() []check {
	return []check{{"two candidates hand a lease over and never lead together", electLeaders}}
}

func electLeaders(ctx context.Context, w *world) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var leading atomic.Int32
	var together atomic.Bool
	led := make(chan string, 2)
	run := func(ctx context.Context, identity string) error {
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{
				LeaseMeta:  metav1.ObjectMeta{Namespace: w.namespace, Name: "leader"},
				Client:     w.client.CoordinationV1(),
				LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
			},
			LeaseDuration:   4 * time.Second,
			RenewDeadline:   3 * time.Second,
			RetryPeriod:     500 * time.Millisecond,
			ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) {
					if leading.Add(1) > 1 {
						together.Store(true)
					}
					led <- identity
				},
				OnStoppedLeading: func() {},
			},
		})
		if err == nil {
			elector.Run(ctx)
		}
		return err
	}
	first, resign := context.WithCancel(ctx)
	defer resign()
	failures := make(chan error, 2)
	var group sync.WaitGroup
	group.Go(func() { failures <- run(first, "one") })
	if err := nextLeader(ctx, led, "one"); err != nil {
		return "", err
	}
	group.Go(func() { failures <- run(ctx, "two") })
	// Long enough for the second to try while the first leads, several times.
	time.Sleep(2 * time.Second)
	leading.Add(-1)
	resign()
	if err := nextLeader(ctx, led, "two"); err != nil {
		return "", err
	}
	lease, err := w.client.CoordinationV1().Leases(w.namespace).Get(ctx, "leader", metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if together.Load() || *lease.Spec.HolderIdentity != "two" {
		return "", fmt.Errorf("led together: %v; held by %s", together.Load(), *lease.Spec.HolderIdentity)
	}
	cancel()
	group.Wait()
	close(failures)
	for failure := range failures {
		if failure != nil {
			return "", failure
		}
	}
	return fmt.Sprintf("%d transitions", *lease.Spec.LeaseTransitions), nil
}

func nextLeader(ctx context.Context, led <-chan string, wanted string) error {
	select {
	case leader := <-led:
		if leader != wanted {
			return fmt.Errorf("%s leads instead of %s", leader, wanted)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s never led", wanted)
	}
}
