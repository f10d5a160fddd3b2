package adapter

import (
	"fmt"
	"io"
	"log/slog"
)

// Records with tokens print without them: package slog logs what LogValue
// returns, and package fmt calls Format, which prints the same for every verb.
// Package encoding/json writes every field, because stores use it.

func format(f fmt.State, v slog.LogValuer) { _, _ = io.WriteString(f, v.LogValue().Resolve().String()) }

// LogValue keeps tokens out of logs.
func (a Account) LogValue() slog.Value {
	return slog.GroupValue(slog.String("userId", a.UserID), slog.String("type", string(a.Type)), slog.String("provider", a.Provider))
}

// LogValue keeps tokens out of logs.
func (c AccountUpdate) LogValue() slog.Value {
	return slog.GroupValue(slog.String("provider", c.Provider))
}

// LogValue keeps the token out of logs.
func (s Session) LogValue() slog.Value {
	return slog.GroupValue(slog.String("userId", s.UserID), slog.Time("expires", s.Expires))
}

// LogValue keeps the token out of logs.
func (c SessionUpdate) LogValue() slog.Value {
	return slog.GroupValue(slog.Bool("userId", c.UserID.IsSet()), slog.Bool("expires", c.Expires.IsSet()))
}

// LogValue keeps the token out of logs.
func (s SessionAndUser) LogValue() slog.Value {
	return slog.GroupValue(slog.String("userId", s.Session.UserID), slog.Time("expires", s.Session.Expires))
}

// LogValue keeps the token out of logs.
func (t VerificationToken) LogValue() slog.Value {
	return slog.GroupValue(slog.String("identifier", t.Identifier), slog.Time("expires", t.Expires))
}

// LogValue keeps the hash out of logs.
func (p Password) LogValue() slog.Value { return slog.GroupValue(slog.String("userId", p.UserID)) }

// LogValue keeps the token out of logs.
func (k VerificationTokenKey) LogValue() slog.Value {
	return slog.GroupValue(slog.String("identifier", k.Identifier))
}

// Format prints what LogValue returns.
func (a Account) Format(f fmt.State, _ rune) { format(f, a) }

// Format prints what LogValue returns.
func (c AccountUpdate) Format(f fmt.State, _ rune) { format(f, c) }

// Format prints what LogValue returns.
func (s Session) Format(f fmt.State, _ rune) { format(f, s) }

// Format prints what LogValue returns.
func (c SessionUpdate) Format(f fmt.State, _ rune) { format(f, c) }

// Format prints what LogValue returns.
func (s SessionAndUser) Format(f fmt.State, _ rune) { format(f, s) }

// Format prints what LogValue returns.
func (t VerificationToken) Format(f fmt.State, _ rune) { format(f, t) }

// Format prints what LogValue returns.
func (p Password) Format(f fmt.State, _ rune) { format(f, p) }

// Format prints what LogValue returns.
func (k VerificationTokenKey) Format(f fmt.State, _ rune) { format(f, k) }
