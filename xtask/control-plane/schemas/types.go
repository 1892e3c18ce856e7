package main

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

var plain = scheme.Codecs.WithoutConversion()

// values are the types that read and write their JSON themselves, and what they are called here.
var values = map[reflect.Type]string{
	reflect.TypeFor[meta.Time]():                                  "time",
	reflect.TypeFor[meta.MicroTime]():                             "microtime",
	reflect.TypeFor[meta.Duration]():                              "duration",
	reflect.TypeFor[resource.Quantity]():                          "quantity",
	reflect.TypeFor[intstr.IntOrString]():                         "intorstring",
	reflect.TypeFor[runtime.RawExtension]():                       "raw",
	reflect.TypeFor[meta.FieldsV1]():                              "fields",
	reflect.TypeFor[apiextensions.JSON]():                         "json",
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrBool]():        "schemaorbool",
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrArray]():       "schemaorarray",
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrStringArray](): "schemaorstrings",
}

// goTypes finds the Go type of each name.
func goTypes(published map[string]component) (map[string]reflect.Type, error) {
	builder := runtime.NewSchemeBuilder(
		scheme.AddToScheme, apiextensions.AddToScheme, apiregistration.AddToScheme,
	)
	known := runtime.NewScheme()
	if err := builder.AddToScheme(known); err != nil {
		return nil, err
	}
	types := map[string]reflect.Type{}
	for _, root := range known.AllKnownTypes() {
		collect(root, types)
	}
	for _, root := range []reflect.Type{
		reflect.TypeFor[version.Info](), reflect.TypeFor[meta.Patch](), reflect.TypeFor[meta.APIGroupList](),
		reflect.TypeFor[meta.APIResourceList](), reflect.TypeFor[meta.APIVersions](),
	} {
		collect(root, types)
	}
	for name := range published {
		if types[name] == nil {
			return nil, fmt.Errorf("no Go type is called %s", name)
		}
	}
	return types, nil
}

// collect adds a type and all that it is made of.
func collect(t reflect.Type, types map[string]reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		collect(t.Elem(), types)
	case reflect.Map:
		collect(t.Elem(), types)
	case reflect.Struct:
		name, ok := modelName(t)
		if ok && types[name] != nil {
			return
		}
		if ok {
			types[name] = t
		}
		if values[t] == "schemaorbool" {
			collect(reflect.TypeFor[apiextensions.JSONSchemaProps](), types)
		}
		if values[t] != "" {
			return
		}
		for i := range t.NumField() {
			if field := t.Field(i); field.IsExported() {
				collect(field.Type, types)
			}
		}
	}
}

func modelName(t reflect.Type) (string, bool) {
	named, ok := reflect.Zero(t).Interface().(interface{ OpenAPIModelName() string })
	if !ok {
		return "", false
	}
	return named.OpenAPIModelName(), true
}

// field is one JSON field of a struct, also of the structs that are inlined in it.
type field struct {
	name, omit string
	number     string
	// inlined names the Go fields of the structs that it is inlined from, parted by dots.
	inlined string
	typ     reflect.Type
}

// fieldsOf lists the JSON fields; outer is what their protobuf numbers begin with: a number and a dot
// for each struct that they are inlined from.
func fieldsOf(t reflect.Type, outer string) ([]field, error) {
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		number, err := protobufNumber(f)
		if err != nil {
			return nil, err
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
			continue
		case f.Anonymous && name == "":
			path := outer + number + "."
			if number == "" {
				// Like TypeMeta, which is not in the message.
				path = "-"
			}
			inner, err := fieldsOf(f.Type, path)
			if err != nil {
				return nil, err
			}
			for _, field := range inner {
				field.inlined = strings.TrimSuffix(f.Name+"."+field.inlined, ".")
				fields = append(fields, field)
			}
			continue
		case name == "":
			name = f.Name
		}
		if number != "" {
			number = outer + number
		}
		if strings.HasPrefix(number, "-") {
			number = ""
		}
		omit := ""
		for _, option := range strings.Split(options, ",") {
			switch option {
			case "omitempty":
				omit += "o"
			case "omitzero":
				omit += "z"
			}
		}
		fields = append(fields, field{name: name, omit: omit, number: number, typ: f.Type})
	}
	return fields, nil
}

func protobufNumber(f reflect.StructField) (string, error) {
	tag := f.Tag.Get("protobuf")
	if tag == "" || tag == "-" {
		return "", nil
	}
	parts := strings.Split(tag, ",")
	if len(parts) < 2 {
		return "", fmt.Errorf("%s: protobuf tag %q", f.Name, tag)
	}
	if _, err := strconv.ParseUint(parts[1], 10, 32); err != nil {
		return "", fmt.Errorf("%s: protobuf tag %q", f.Name, tag)
	}
	if f.Type.PkgPath() == "k8s.io/apimachinery/pkg/apis/meta/v1" && f.Type.Name() == "Verbs" {
		// A list that is a message of its own where it is a field.
		return parts[1] + ".1", nil
	}
	return parts[1], nil
}

// token writes a type: `*` pointer, `[]` list, `{}` map, `<name>` its name in Go where that tells more.
func token(t reflect.Type) (string, error) {
	if value, ok := values[t]; ok {
		return value, nil
	}
	if t.Kind() == reflect.Struct {
		name, ok := modelName(t)
		if !ok {
			return "", fmt.Errorf("%s has no name", t)
		}
		return short(name), nil
	}
	named := ""
	if t.PkgPath() != "" {
		named = "<" + t.String() + ">"
	}
	switch t.Kind() {
	case reflect.Pointer:
		inner, err := token(t.Elem())
		return named + "*" + inner, err
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return named + "bytes", nil
		}
		inner, err := token(t.Elem())
		return named + "[]" + inner, err
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return "", fmt.Errorf("%s: keys are no texts", t)
		}
		key := ""
		if t.Key().PkgPath() != "" {
			key = t.Key().String()
		}
		inner, err := token(t.Elem())
		return named + "{" + key + "}" + inner, err
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64, reflect.Float64:
		return named + t.Kind().String(), nil
	}
	return "", fmt.Errorf("%s is of no known kind", t)
}

// short leaves out of a name what most names begin with.
func short(name string) string {
	for _, prefix := range []string{
		"io.k8s.api.", "io.k8s.apimachinery.pkg.apis.", "io.k8s.apimachinery.pkg.",
		"io.k8s.apiextensions-apiserver.pkg.apis.", "io.k8s.kube-aggregator.pkg.apis.",
	} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return rest
		}
	}
	return name
}
