package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// decode fills the value from JSON. It is stricter than encoding/json: unknown
// fields and empty values are errors, and every error begins with the path of
// what is wrong, such as "clusters[0].endpoints[2].latency".
func decode(raw json.RawMessage, into reflect.Value) error {
	if bytes.Equal(raw, []byte("null")) {
		return errors.New("has no value")
	}
	if own, ok := into.Addr().Interface().(json.Unmarshaler); ok {
		return own.UnmarshalJSON(raw)
	}
	switch into.Kind() {
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		return decode(raw, into.Elem())
	case reflect.Struct:
		return decodeStruct(raw, into)
	case reflect.Slice:
		return decodeSlice(raw, into)
	default:
		return decodeLeaf(raw, into)
	}
}

func decodeStruct(raw json.RawMessage, into reflect.Value) error {
	fields := map[string]reflect.Value{}
	collectFields(into, fields)
	known := strings.Join(slices.Sorted(maps.Keys(fields)), ", ")
	var given map[string]json.RawMessage
	if json.Unmarshal(raw, &given) != nil {
		return fmt.Errorf("given %s; should be a mapping with the fields %s", excerpt(raw), known)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		field, found := fields[name]
		if !found {
			return at(quoted(name), fmt.Errorf("unknown field; known here: %s", known))
		}
		if err := decode(given[name], field); err != nil {
			return at(name, err)
		}
	}
	return nil
}

// collectFields maps the JSON names of a struct, and of the structs embedded in
// it, to their fields.
func collectFields(value reflect.Value, fields map[string]reflect.Value) {
	for i := range value.NumField() {
		field := value.Type().Field(i)
		switch name := field.Tag.Get("json"); {
		case field.Anonymous:
			collectFields(value.Field(i), fields)
		case name != "":
			fields[name] = value.Field(i)
		}
	}
}

func decodeSlice(raw json.RawMessage, into reflect.Value) error {
	var given []json.RawMessage
	if json.Unmarshal(raw, &given) != nil {
		return fmt.Errorf("given %s; should be a list", excerpt(raw))
	}
	into.Set(reflect.MakeSlice(into.Type(), len(given), len(given)))
	for i := range given {
		if err := decode(given[i], into.Index(i)); err != nil {
			return atIndex(i, err)
		}
	}
	return nil
}

func decodeLeaf(raw json.RawMessage, into reflect.Value) error {
	if json.Unmarshal(raw, into.Addr().Interface()) == nil {
		return nil
	}
	wanted := map[reflect.Kind]string{
		reflect.String:  "text",
		reflect.Bool:    "true or false",
		reflect.Float64: "a number",
		reflect.Int:     "a whole number",
		reflect.Int64:   "a whole number",
		reflect.Uint64:  "a whole number, 0 or more",
	}[into.Kind()]
	return fmt.Errorf("given %s; should be %s", excerpt(raw), wanted)
}

// chosen returns the one field of a struct that was given and is a T, with its
// name in the file: for the items of a list that are each of one kind, such as events and expectations.
func chosen[T any](options any) (name string, option T, err error) {
	var found, known []string
	value := reflect.ValueOf(options)
	for i := range value.NumField() {
		field := value.Field(i)
		candidate, isOption := field.Interface().(T)
		if !isOption {
			continue
		}
		known = append(known, value.Type().Field(i).Tag.Get("json"))
		if !field.IsNil() {
			option = candidate
			found = append(found, known[len(known)-1])
		}
	}
	if len(found) != 1 {
		return "", option, fmt.Errorf("given %d kinds; should be exactly one of %s", len(found), strings.Join(known, ", "))
	}
	return found[0], option, nil
}
