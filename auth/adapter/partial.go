package adapter

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// PartialAdapter is an Adapter some of whose methods may be missing.
type PartialAdapter interface {
	Adapter
	// Missing lists the names of the methods that are not implemented, in the
	// order of the interfaces. It is empty if none is missing.
	Missing() []string
	// Unwrap returns the value that the adapter was made of, as Partial got it. A
	// test that opens the adapter reaches its own type by it.
	Unwrap() any
}

// Missing lists the names of the methods that a does not implement, among them those
// of optional interfaces that it can't serve at this site. The list is empty unless a is
// a PartialAdapter, or has its method Missing.
func Missing(a Adapter) []string { return missingOf(a) }

func missingOf(v any) []string {
	if p, ok := v.(interface{ Missing() []string }); ok {
		return p.Missing()
	}
	return nil
}

// Partial makes an Adapter of a value that has some of the methods of Adapter.
// Each method that v lacks returns an error matching ErrUnsupported that names
// the method [CAP-01]. The result implements Sweeper if v does, and Capability
// finds the optional interfaces that v implements.
//
// It is an error if v is nil, if v has none of the methods, or if a method of v
// has the name but not the signature of a method of Adapter or of an optional
// interface.
//
// [CAP-01]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/cap.md#cap-01
func Partial(v any) (PartialAdapter, error) {
	if isNil(v) {
		return nil, errors.New("adapter: Partial of nil: want a value with at least one method of adapter.Adapter")
	}
	b := builder{value: v, declared: missingOf(v)}
	p := partial{methods: pickAll(&b), value: v}
	if b.found == 0 && len(b.problems) == 0 {
		b.problems = append(b.problems, fmt.Errorf("adapter: Partial of %T: it has none of the methods of adapter.Adapter", v))
	}
	for _, optional := range optionalInterfaces {
		for m := range optional.Methods() {
			b.compareSignature(m)
		}
	}
	if err := errors.Join(b.problems...); err != nil {
		return nil, err
	}
	p.missing = b.missing
	if s, ok := v.(Sweeper); ok {
		return sweepingPartial{p, s}, nil
	}
	return p, nil
}

// builder collects what Partial learns about a value.
type builder struct {
	value    any
	declared []string // missing, as the value's own Missing says
	missing  []string
	problems []error
	found    int
}

//go:generate go run ./internal/methods -form partial partial_methods.go

// pick returns the value as M, an interface of the one named method, or a
// substitute whose method fails.
func pick[M any](b *builder, name string) M {
	if m, ok := b.value.(M); ok && !slices.Contains(b.declared, name) {
		b.found++
		return m
	}
	b.missing = append(b.missing, name)
	if !slices.Contains(b.declared, name) {
		b.compareSignature(reflect.TypeFor[M]().Method(0))
	}
	return any(unsupported{}).(M)
}

// compareSignature records a method of the value that has the name of the
// wanted one and another signature.
func (b *builder) compareSignature(want reflect.Method) {
	m, ok := reflect.TypeOf(b.value).MethodByName(want.Name)
	if !ok {
		return
	}
	if got := reflect.ValueOf(b.value).Method(m.Index).Type(); got != want.Type {
		b.problems = append(b.problems, fmt.Errorf("adapter: Partial of %T: %s is %v, want %v", b.value, want.Name, got, want.Type))
	}
}

func isNil(v any) bool {
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan:
		return r.IsNil()
	default:
		return false
	}
}

// partial is an adapter that is composed of single methods.
type partial struct {
	methods
	value   any
	missing []string
}

// Unwrap returns the value that Partial was given. See Capability.
func (p partial) Unwrap() any { return p.value }

func (p partial) Missing() []string { return slices.Clone(p.missing) }

type sweepingPartial struct {
	partial
	Sweeper
}
