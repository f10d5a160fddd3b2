// Package redact prints values that hold tokens, passwords, codes, cookies or
// secrets without them.
package redact

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

// Text stands for what is not printed.
const Text = "[redacted]"

// Format prints what is logged, for every verb of package fmt.
func Format(f fmt.State, v slog.LogValuer) { _, _ = io.WriteString(f, v.LogValue().Resolve().String()) }

// JSON writes what is logged, as a JSON string.
func JSON(v slog.LogValuer) ([]byte, error) { return json.Marshal(v.LogValue().Resolve().String()) }

// Shown is embedded in a struct that only package auth makes, and prints the
// whole struct: the attributes that were chosen with Show, or nothing.
type Shown struct{ value *slog.Value }

// Show chooses what is printed.
func Show(attrs ...slog.Attr) Shown {
	return Shown{value: new(slog.GroupValue(attrs...))}
}

// LogValue returns what is printed.
func (s Shown) LogValue() slog.Value {
	if s.value == nil {
		return slog.StringValue(Text)
	}
	return *s.value
}

// Format prints what LogValue returns.
func (s Shown) Format(f fmt.State, _ rune) { Format(f, s) }

// MarshalJSON writes what LogValue returns, as a JSON string.
func (s Shown) MarshalJSON() ([]byte, error) { return JSON(s) }
