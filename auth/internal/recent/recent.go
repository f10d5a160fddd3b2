// Package recent has a map of bounded size.
package recent

import "container/list"

// Map keeps the values that were used last. It is ready to use when Max is
// set.
type Map[K comparable, V any] struct {
	Max    int
	order  list.List // of *entry[K, V], the last used first
	values map[K]*list.Element
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// Get returns the value of a key, or a new one if there is none. If there are
// then too many values, it forgets the one that was not used for the longest
// time.
func (r *Map[K, V]) Get(key K, create func() V) V {
	if e, ok := r.values[key]; ok {
		r.order.MoveToFront(e)
		return e.Value.(*entry[K, V]).value //nolint:forcetypeassert // the list holds nothing else
	}
	if r.values == nil {
		r.values = map[K]*list.Element{}
	}
	value := create()
	r.values[key] = r.order.PushFront(&entry[K, V]{key, value})
	if r.order.Len() > r.Max {
		oldest := r.order.Remove(r.order.Back()).(*entry[K, V]) //nolint:forcetypeassert // as above
		delete(r.values, oldest.key)
	}
	return value
}

// Peek returns the value of a key, if there is one. It is not a use of the
// value.
func (r *Map[K, V]) Peek(key K) (value V, ok bool) {
	e, ok := r.values[key]
	if ok {
		value = e.Value.(*entry[K, V]).value //nolint:forcetypeassert // the list holds nothing else
	}
	return value, ok
}

// Len returns the number of values.
func (r *Map[K, V]) Len() int { return r.order.Len() }
