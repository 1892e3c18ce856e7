package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// describe writes one type: a line of its own, and one for each field.
func describe(name string, published component, types map[string]reflect.Type) ([]string, error) {
	t := types[name]
	head := []string{name, t.String()}
	if len(published.Kinds) > 0 {
		var kinds []string
		for _, kind := range published.Kinds {
			kinds = append(kinds, kind.Group+"/"+kind.Version+"/"+kind.Kind)
		}
		head = append(head, "kinds="+strings.Join(kinds, ","))
	}
	if value, ok := values[t]; ok {
		head = append(head, "value="+value)
		return []string{strings.Join(head, "\t")}, nil
	}
	if published.MapType != "" {
		head = append(head, "map="+published.MapType)
	}
	if published.Unions != nil {
		unions, err := compact(published.Unions)
		if err != nil {
			return nil, err
		}
		head = append(head, "unions="+unions)
	}
	lines := []string{strings.Join(head, "\t")}
	fields, err := fieldsOf(t, "")
	if err != nil {
		return nil, err
	}
	told := map[string]bool{}
	for _, field := range fields {
		property, ok := published.Properties[field.name]
		if !ok {
			// The server does not publish it.
			property = component{}
		}
		told[field.name] = true
		required := slices.Contains(published.Required, field.name)
		line, err := describeField(field, property, required)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", field.name, err)
		}
		if !ok {
			line += "\thidden"
		}
		lines = append(lines, line)
	}
	for property := range published.Properties {
		if !told[property] {
			return nil, fmt.Errorf("%s is no field in Go", property)
		}
	}
	return lines, nil
}

func describeField(field field, property component, required bool) (string, error) {
	typ, err := token(field.typ)
	if err != nil {
		return "", err
	}
	words := []string{"", field.name, typ}
	add := func(key, value string) {
		if value != "" {
			words = append(words, key+value)
		}
	}
	add("#", field.number)
	add("in=", field.inlined)
	add("", field.omit)
	if required {
		add("", "!")
	}
	list := property.ListType
	if len(property.ListKeys) > 0 {
		list += ":" + strings.Join(property.ListKeys, ",")
	}
	add("list=", list)
	add("map=", property.MapType)
	add("patch=", property.Strategy)
	add("key=", property.MergeKey)
	if property.Default != nil {
		text, err := compact(property.Default)
		if err != nil {
			return "", err
		}
		add("default=", text)
	}
	enum := property.Enum
	for inner := &property; inner != nil; {
		if inner.Enum != nil {
			enum = inner.Enum
		}
		if inner.Items != nil {
			inner = inner.Items
		} else {
			inner = inner.Values
		}
	}
	if enum != nil {
		text, err := compact(enum)
		if err != nil {
			return "", err
		}
		add("enum=", text)
	}
	return strings.Join(words, "\t"), nil
}

func compact(text json.RawMessage) (string, error) {
	var out bytes.Buffer
	err := json.Compact(&out, text)
	return out.String(), err
}
