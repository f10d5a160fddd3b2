package jwt

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
)

// Types with tokens or secrets print without them: package slog logs what
// LogValue returns, and package fmt calls Format, which prints the same for every
// verb.

func format(f fmt.State, v slog.LogValuer) { _, _ = io.WriteString(f, v.LogValue().Resolve().String()) }

// LogValue keeps the value out of logs.
func (c Cookie) LogValue() slog.Value {
	return slog.GroupValue(slog.String("name", c.Name), slog.Bool("ambiguous", c.Ambiguous))
}

// LogValue shows the names of the claims, without values.
func (c Claims) LogValue() slog.Value {
	return slog.GroupValue(slog.Any("claims", slices.Sorted(maps.Keys(c))))
}

// LogValue keeps the keys out of logs.
func (k *Keys) LogValue() slog.Value { return slog.StringValue("[redacted]") }

// Format prints what LogValue returns.
func (c Claims) Format(f fmt.State, _ rune) { format(f, c) }

// Format prints what LogValue returns.
func (c Cookie) Format(f fmt.State, _ rune) { format(f, c) }

// Format prints what LogValue returns.
func (k *Keys) Format(f fmt.State, _ rune) { format(f, k) }

// Format prints what LogValue returns.
func (v DecodeParams) Format(f fmt.State, _ rune) { format(f, v) }

// Format prints what LogValue returns.
func (v EncodeParams) Format(f fmt.State, _ rune) { format(f, v) }

// Format prints what LogValue returns.
func (v GetTokenParams) Format(f fmt.State, _ rune) { format(f, v) }
