// Package diff compares records and prints values for evidence.
package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"
)

// Records compares two records field by field. It returns a text that names the
// fields that differ, or the empty string. Instants are equal if they differ by
// less than the precision, so that a store may truncate or round them. JSON is
// compared by its structure.
func Records(got, want any, precision time.Duration) string {
	var differences []string
	compare("", reflect.ValueOf(got), reflect.ValueOf(want), precision, &differences)
	return strings.Join(differences, "; ")
}

func compare(path string, got, want reflect.Value, precision time.Duration, differences *[]string) {
	differ := func() {
		*differences = append(*differences, strings.TrimSpace(fmt.Sprintf("%s got %s, want %s", path, Show(value(got)), Show(value(want)))))
	}
	if got.IsValid() != want.IsValid() || got.IsValid() && got.Type() != want.Type() {
		differ()
		return
	}
	if !got.IsValid() {
		return
	}
	switch w := want.Interface().(type) {
	case time.Time:
		if apart := got.Interface().(time.Time).Sub(w).Abs(); apart >= precision {
			differ()
		}
		return
	case json.RawMessage:
		if !sameJSON(got.Interface().(json.RawMessage), w) {
			differ()
		}
		return
	}
	switch want.Kind() {
	case reflect.Pointer:
		if got.IsNil() || want.IsNil() {
			if got.IsNil() != want.IsNil() {
				differ()
			}
			return
		}
		compare(path, got.Elem(), want.Elem(), precision, differences)
	case reflect.Struct:
		for i := range want.NumField() {
			name := want.Type().Field(i).Name
			if path != "" {
				name = path + "." + name
			}
			compare(name, got.Field(i), want.Field(i), precision, differences)
		}
	default:
		if !reflect.DeepEqual(got.Interface(), want.Interface()) {
			differ()
		}
	}
}

func value(v reflect.Value) any {
	if !v.IsValid() {
		return nil
	}
	return v.Interface()
}

func sameJSON(a, b json.RawMessage) bool {
	if (a == nil) != (b == nil) {
		return false
	}
	if a == nil || bytes.Equal(a, b) {
		return true
	}
	decode := func(raw json.RawMessage) (v any, ok bool) {
		d := json.NewDecoder(strings.NewReader(string(raw)))
		d.UseNumber()
		return v, d.Decode(&v) == nil
	}
	x, xok := decode(a)
	y, yok := decode(b)
	return xok && yok && reflect.DeepEqual(exact(x), exact(y))
}

// exact replaces the numbers of decoded JSON by their exact values, so that 1e2
// equals 100. A number whose exponent is too large to compute stays text.
func exact(v any) any {
	switch v := v.(type) {
	case json.Number:
		if _, exponent, _ := strings.Cut(strings.ToLower(v.String()), "e"); len(exponent) > 4 {
			return v
		}
		if r, ok := new(big.Rat).SetString(v.String()); ok {
			return r.RatString()
		}
		return v
	case []any:
		for i := range v {
			v[i] = exact(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = exact(v[k])
		}
	}
	return v
}

// Show formats values for evidence. For a pointer it shows the value that it
// points to, and for a long string the beginning and the end.
func Show(values ...any) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = showValue(reflect.ValueOf(v))
	}
	return strings.Join(parts, ", ")
}

func showValue(v reflect.Value) string {
	if !v.IsValid() {
		return "nil"
	}
	if v.CanInterface() {
		switch x := v.Interface().(type) {
		case time.Time:
			return x.Format(time.RFC3339Nano)
		case json.RawMessage:
			return showString(string(x))
		case error:
			if v.Kind() != reflect.Pointer || !v.IsNil() {
				return x.Error()
			}
		}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return "nil"
		}
		return showValue(v.Elem())
	case reflect.String:
		return showString(v.String())
	case reflect.Slice:
		if v.Len() > 4 {
			return fmt.Sprintf("%d of %v", v.Len(), v.Type().Elem())
		}
		var parts []string
		for i := range v.Len() {
			parts = append(parts, showValue(v.Index(i)))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case reflect.Struct:
		return showStruct(v)
	default:
		return fmt.Sprint(v)
	}
}

func showStruct(v reflect.Value) string {
	if set := v.FieldByName("set"); set.IsValid() && strings.HasPrefix(v.Type().Name(), "Change[") {
		if !set.Bool() {
			return ""
		}
		if v.CanInterface() { // else an instant could not show itself
			return showValue(v.MethodByName("Get").Call(nil)[0])
		}
		return showValue(v.FieldByName("value"))
	}
	var parts []string
	for i := range v.NumField() {
		f := v.Field(i)
		if f.IsZero() {
			continue
		}
		parts = append(parts, v.Type().Field(i).Name+": "+showValue(f))
	}
	return "{" + strings.Join(parts, " ") + "}"
}

func showString(s string) string {
	const limit = 96
	if len(s) <= limit {
		return fmt.Sprintf("%q", s)
	}
	head, tail := s[:limit/2], s[len(s)-limit/4:]
	for len(head) > 0 && !utf8.ValidString(head) && len(head) > limit/2-4 {
		head = head[:len(head)-1]
	}
	return fmt.Sprintf("%q…%q (%d bytes)", head, tail, len(s))
}
