package mutants

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
)

// pageOfBytes cuts a list before its JSON is longer than a mebibyte.
func pageOfBytes[T any](list func(context.Context, string) ([]T, error)) func(context.Context, string) ([]T, error) {
	return func(ctx context.Context, id string) ([]T, error) {
		all, err := list(ctx, id)
		size := 0
		for i, x := range all {
			raw, _ := json.Marshal(x)
			if size += len(raw); size > 1<<20 {
				return all[:i], err
			}
		}
		return all, err
	}
}

// byPosition lists in pages, in the order of the keys.
func byPosition[T any](list func(context.Context, string) ([]T, error), key func(T) string) func(context.Context, string) ([]T, error) {
	const size = 25
	return func(ctx context.Context, userID string) ([]T, error) {
		for pages := []T{}; ; gap() {
			all, err := list(ctx, userID)
			if err != nil {
				return nil, err
			}
			slices.SortFunc(all, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
			rest := all[min(len(pages), len(all)):]
			pages = append(pages, rest[:min(size, len(rest))]...)
			if len(rest) <= size {
				return pages, nil
			}
		}
	}
}

// joined lists records of a user as an outer join does: a record appears once for
// each record of the other kind that on accepts for it.
func joined[A, B any](ctx context.Context, id string, list func(context.Context, string) ([]A, error), others func(context.Context, string) ([]B, error), on func(A, B) bool) ([]A, error) {
	records, err := list(ctx, id)
	if err != nil {
		return nil, err
	}
	beside, err := others(ctx, id)
	if err != nil {
		return nil, err
	}
	rows := []A{}
	for _, a := range records {
		n := 0
		for _, b := range beside {
			if on(a, b) {
				n++
			}
		}
		rows = append(rows, slices.Repeat([]A{a}, max(1, n))...)
	}
	return rows, nil
}
