// Clientgo talks to an API server as ordinary Go programs do, through client-go, and says of each
// thing it tried whether the server behaved. It prints one line of JSON for each check and exits
// with 1 when any has failed.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// checkTimeout bounds one check; the longest waits for a lease to change hands.
const checkTimeout = 60 * time.Second

// world is what a check works with.
type world struct {
	config    *rest.Config
	client    kubernetes.Interface
	dynamic   dynamic.Interface
	metadata  metadata.Interface
	namespace string
	requests  *requestLog
}

// check tries one thing; what it returns is shown, and an error means that the server misbehaved.
type check struct {
	name string
	run  func(ctx context.Context, w *world) (string, error)
}

func allChecks() []check {
	groups := [][]check{
		discoveryChecks(),
		informerChecks(),
		listChecks(),
		writeChecks(),
		applyChecks(),
		leaderChecks(),
		accessChecks(),
		eventChecks(),
		customChecks(),
		deletionChecks(),
	}
	var all []check
	for _, group := range groups {
		all = append(all, group...)
	}
	return all
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "which server, and as whom")
	only := flag.String("only", "", "run the checks whose name contains this")
	flag.Parse()
	// What client-go logs on its own is no result; it would mix with the lines of JSON.
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	if err := runChecks(*kubeconfig, *only); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func runChecks(kubeconfig, only string) error {
	w, err := connect(kubeconfig)
	if err != nil {
		return err
	}
	ctx := context.Background()
	spec := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "clientgo-"}}
	namespace, err := w.client.CoreV1().Namespaces().Create(ctx, spec, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("cannot create a namespace: %w", err)
	}
	w.namespace = namespace.Name
	failed := 0
	for _, one := range allChecks() {
		if strings.Contains(one.name, only) && !runCheck(ctx, w, one) {
			failed++
		}
	}
	if err := w.client.CoreV1().Namespaces().Delete(ctx, w.namespace, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("cannot delete the namespace: %w", err)
	}
	if failed > 0 {
		return fmt.Errorf("%d checks failed", failed)
	}
	return nil
}

func runCheck(ctx context.Context, w *world, one check) bool {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	w.requests.reset()
	detail, err := one.run(ctx, w)
	if err != nil {
		detail = err.Error()
	}
	line, encodeErr := json.Marshal(struct {
		Name   string `json:"name"`
		OK     bool   `json:"ok"`
		Detail string `json:"detail"`
	}{one.name, err == nil, detail})
	if encodeErr != nil {
		panic(encodeErr)
	}
	fmt.Println(string(line))
	return err == nil
}

func connect(kubeconfig string) (*world, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	// The default would throttle the checks themselves.
	config.QPS, config.Burst = 500, 500
	requests := &requestLog{}
	config.Wrap(requests.wrap)
	w := &world{config: config, requests: requests}
	if w.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if w.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	w.metadata, err = metadata.NewForConfig(config)
	return w, err
}
