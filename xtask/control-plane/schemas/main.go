// Command schemas prints the types of the Kubernetes API, one field a line:
// what a running server publishes of them, and what only the Go types tell.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"sort"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	log.SetFlags(0)
	kubeconfig := flag.String("kubeconfig", "", "path of the kubeconfig of a running server")
	flag.Parse()
	if err := run(*kubeconfig); err != nil {
		log.Fatalf("schemas: %v", err)
	}
}

func run(kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	published, err := fetch(config)
	if err != nil {
		return err
	}
	types, err := goTypes(published)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	for _, name := range sortedKeys(published) {
		lines, err := describe(name, published[name], types)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, line := range lines {
			fmt.Fprintln(out, line)
		}
	}
	return out.Flush()
}

// component is a schema of an OpenAPI document, as far as it matters here.
type component struct {
	Ref        string               `json:"$ref"`
	AllOf      []component          `json:"allOf"`
	Type       string               `json:"type"`
	Properties map[string]component `json:"properties"`
	Required   []string             `json:"required"`
	Default    json.RawMessage      `json:"default"`
	Enum       json.RawMessage      `json:"enum"`
	Items      *component           `json:"items"`
	Values     *component           `json:"additionalProperties"`
	Kinds      []kind               `json:"x-kubernetes-group-version-kind"`
	MapType    string               `json:"x-kubernetes-map-type"`
	ListType   string               `json:"x-kubernetes-list-type"`
	ListKeys   []string             `json:"x-kubernetes-list-map-keys"`
	Strategy   string               `json:"x-kubernetes-patch-strategy"`
	MergeKey   string               `json:"x-kubernetes-patch-merge-key"`
	Unions     json.RawMessage      `json:"x-kubernetes-unions"`
}

type kind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// fetch returns the schemas of all documents by name.
func fetch(config *rest.Config) (map[string]component, error) {
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.NegotiatedSerializer = plain
	client, err := rest.UnversionedRESTClientForConfigAndClient(config, transport)
	if err != nil {
		return nil, err
	}
	get := func(path string, into any) error {
		body, err := client.Get().AbsPath(path).Do(context.Background()).Raw()
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return json.Unmarshal(body, into)
	}
	var index struct {
		Paths map[string]any `json:"paths"`
	}
	if err := get("/openapi/v3", &index); err != nil {
		return nil, err
	}
	all := map[string]component{}
	for path := range index.Paths {
		var document struct {
			Components struct {
				Schemas map[string]component `json:"schemas"`
			} `json:"components"`
		}
		if err := get("/openapi/v3/"+path, &document); err != nil {
			return nil, err
		}
		for name, schema := range document.Components.Schemas {
			if !strings.HasPrefix(name, "io.k8s.") {
				// Of a CustomResourceDefinition.
				continue
			}
			// A document tells only some kinds of what all groups share.
			schema.Kinds = union(schema.Kinds, all[name].Kinds)
			all[name] = schema
		}
	}
	return all, nil
}

func union(some, others []kind) []kind {
	seen := map[kind]bool{}
	for _, kind := range append(append([]kind{}, some...), others...) {
		seen[kind] = true
	}
	kinds := make([]kind, 0, len(seen))
	for kind := range seen {
		kinds = append(kinds, kind)
	}
	sort.Slice(kinds, func(i, j int) bool {
		return fmt.Sprint(kinds[i]) < fmt.Sprint(kinds[j])
	})
	return kinds
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
