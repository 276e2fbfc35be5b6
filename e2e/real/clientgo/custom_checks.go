package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi3"
)

func customChecks() []check {
	return []check{{"a custom kind is served, checked and described", customKind}}
}

type object = map[string]any

var definitions = schema.GroupVersionResource{
	Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
}

// shopDefinition is of a group of its own for each run, because definitions have no namespace.
func shopDefinition(group string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   object{"name": "shops." + group},
		"spec": object{
			"group": group,
			"scope": "Namespaced",
			"names": object{"plural": "shops", "singular": "shop", "kind": "Shop", "listKind": "ShopList"},
			"versions": []any{object{
				"name": "v1", "served": true, "storage": true,
				"subresources": object{"status": object{}},
				"schema": object{"openAPIV3Schema": object{
					"type": "object",
					"properties": object{
						"spec": object{
							"type":     "object",
							"required": []any{"size"},
							"properties": object{
								"size":   object{"type": "integer", "minimum": int64(1)},
								"colour": object{"type": "string", "default": "blue"},
							},
						},
						"status": object{
							"type":       "object",
							"properties": object{"open": object{"type": "boolean"}},
						},
					},
				}},
			}},
		},
	}}
}

func customKind(ctx context.Context, w *world) (string, error) {
	group := w.namespace + ".lockstep.test"
	crds := w.dynamic.Resource(definitions)
	if _, err := crds.Create(ctx, shopDefinition(group), metav1.CreateOptions{}); err != nil {
		return "", err
	}
	defer func() {
		// What is left behind is only untidy: the group is never used again.
		_ = crds.Delete(context.WithoutCancel(ctx), "shops."+group, metav1.DeleteOptions{})
	}()
	shops := w.dynamic.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "shops"}).
		Namespace(w.namespace)
	shop := &unstructured.Unstructured{Object: object{
		"apiVersion": group + "/v1",
		"kind":       "Shop",
		"metadata":   object{"name": "corner"},
		"spec":       object{"size": int64(3), "unknown": true},
		"status":     object{"open": true},
	}}
	var made *unstructured.Unstructured
	err := eventually(ctx, func() (err error) {
		made, err = shops.Create(ctx, shop, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return "", err
	}
	spec := fmt.Sprint(made.Object["spec"])
	if spec != "map[colour:blue size:3]" || made.Object["status"] != nil || made.GetGeneration() != 1 {
		return "", fmt.Errorf("created %v", made.Object)
	}
	made.Object["status"] = object{"open": true}
	opened, err := shops.UpdateStatus(ctx, made, metav1.UpdateOptions{})
	if err != nil {
		return "", err
	}
	if fmt.Sprint(opened.Object["status"]) != "map[open:true]" || opened.GetGeneration() != 1 {
		return "", fmt.Errorf("opened %v", opened.Object)
	}
	shop.SetName("tiny")
	shop.Object["spec"] = object{"size": int64(0)}
	_, err = shops.Create(ctx, shop, metav1.CreateOptions{})
	wanted := fmt.Sprintf(`Shop.%s "tiny" is invalid: spec.size: Invalid value: 0: `+
		`spec.size in body should be greater than or equal to 1`, group)
	if !apierrors.IsInvalid(err) || err.Error() != wanted {
		return "", fmt.Errorf("a shop too small gives %v", err)
	}
	return "served", describedKind(ctx, w, group)
}

// describedKind waits until the OpenAPI documents have the kind.
func describedKind(ctx context.Context, w *world, group string) error {
	return eventually(ctx, func() error {
		root := openapi3.NewRoot(w.client.Discovery().OpenAPIV3())
		spec, err := root.GVSpec(schema.GroupVersion{Group: group, Version: "v1"})
		if err != nil {
			return err
		}
		for name, definition := range spec.Components.Schemas {
			gvks, _ := definition.Extensions["x-kubernetes-group-version-kind"].([]any)
			if len(gvks) == 1 && gvks[0].(object)["kind"] == "Shop" {
				if _, ok := definition.Properties["spec"].Properties["size"]; ok {
					return nil
				}
				return fmt.Errorf("%s has no spec.size", name)
			}
		}
		return fmt.Errorf("no type is a Shop")
	})
}
