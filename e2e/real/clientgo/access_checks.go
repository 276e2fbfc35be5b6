package main

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func accessChecks() []check {
	return []check{
		{"the administrator may do everything", administratorMay},
		{"a service account's token has its identity and the permissions of its roles", accountToken},
		{"the administrator can impersonate another user", impersonate},
	}
}

func mayI(ctx context.Context, client kubernetes.Interface, namespace, verb, resource string) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Version: "v1", Resource: resource,
		},
	}}
	answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return answer.Status.Allowed, nil
}

func administratorMay(ctx context.Context, w *world) (string, error) {
	allowed, err := mayI(ctx, w.client, w.namespace, "delete", "secrets")
	if err == nil && !allowed {
		err = fmt.Errorf("not allowed to delete secrets")
	}
	return "allowed", err
}

// asAccount is a client that has nothing but the token.
func asAccount(w *world, token string) (kubernetes.Interface, error) {
	config := rest.AnonymousClientConfig(w.config)
	config.BearerToken = token
	return kubernetes.NewForConfig(config)
}

func accountToken(ctx context.Context, w *world) (string, error) {
	accounts := w.client.CoreV1().ServiceAccounts(w.namespace)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}
	if _, err := accounts.Create(ctx, account, metav1.CreateOptions{}); err != nil {
		return "", err
	}
	request, err := accounts.CreateToken(ctx, "robot", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	robot, err := asAccount(w, request.Status.Token)
	if err != nil {
		return "", err
	}
	self, err := robot.AuthenticationV1().SelfSubjectReviews().Create(ctx,
		&authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	name := self.Status.UserInfo.Username
	if name != "system:serviceaccount:"+w.namespace+":robot" {
		return "", fmt.Errorf("the token belongs to %s", name)
	}
	if allowed, err := mayI(ctx, robot, w.namespace, "list", "pods"); err != nil || allowed {
		return "", fmt.Errorf("without a role: allowed %v, %v", allowed, err)
	}
	if _, err := robot.CoreV1().Pods(w.namespace).List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		return "", fmt.Errorf("a list without a role gives %v", err)
	}
	if err := grantPods(ctx, w); err != nil {
		return "", err
	}
	// Real servers learn of new roles a moment later.
	return name, eventually(ctx, func() error {
		_, err := robot.CoreV1().Pods(w.namespace).List(ctx, metav1.ListOptions{})
		return err
	})
}

func grantPods(ctx context.Context, w *world) error {
	meta := metav1.ObjectMeta{Name: "read-pods"}
	role := &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list"}},
	}}
	if _, err := w.client.RbacV1().Roles(w.namespace).Create(ctx, role, metav1.CreateOptions{}); err != nil {
		return err
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "read-pods"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: "robot", Namespace: w.namespace}},
	}
	_, err := w.client.RbacV1().RoleBindings(w.namespace).Create(ctx, binding, metav1.CreateOptions{})
	return err
}

func impersonate(ctx context.Context, w *world) (string, error) {
	config := rest.CopyConfig(w.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "jane", Groups: []string{"shop"}}
	jane, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", err
	}
	_, err = jane.CoreV1().Secrets(w.namespace).List(ctx, metav1.ListOptions{})
	wanted := `secrets is forbidden: User "jane" cannot list resource "secrets" in API group "" in the namespace "` +
		w.namespace + `"`
	if !apierrors.IsForbidden(err) || err.Error() != wanted {
		return "", fmt.Errorf("jane's list gives %v", err)
	}
	return "forbidden as jane", nil
}
