package adapter_test

import (
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
)

func TestIsDate(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, v := range []any{
		now, &now, time.Unix(0, 0),
		"2026-01-15T12:00:00.000Z", "2026-01-15T12:00:00Z", "2026-01-15T12:00Z", "2026-01-15T12:00:00.123456+02:00", "2026-01-15T12:00+02:00",
		"2026-01-15T12:00:00+0200", "2026-01-15t12:00:00z", "2026-02-28", "2024-02-29", "2026-01-15T12:00:00", "2026-01-15T12:00:00.5", "2026-01-15T12:00",
		"2026-01-15 12:00:00", "2026-01-15 12:00:00.123456", "2026-01-15 12:00", "2026-01-15 12:00:00+00:00", "2026-01-15 12:00:00Z", "2026-01-15 12:00:00.123+02",
		"2026-01-15 12:00:00 +0200", "Thu, 15 Jan 2026 12:00:00 GMT", "Thursday, 15-Jan-26 12:00:00 GMT", "Thu Jan 15 12:00:00 2026", "Thu Jan  1 12:00:00 2026",
		"Thu, 15 Jan 2026 12:00:00 +0200", "Thu, 1 Jan 2026 12:00:00 +0000", "1 Jan 2026 12:00:00 -0500",
	} {
		assert.Truef(t, adapter.IsDate(v), "IsDate(%v) is false", v)
	}
	for _, v := range []any{
		nil, "", "hello", true, 0, 1768478400, "0", "1768478400", "2026", time.Time{}, (*time.Time)(nil), struct{}{}, []byte("2026-01-15"),
		"2026-13-15", "2026-02-29", "2026-02-30T12:00:00Z", "2026-01-15T25:00:00Z", "2026-01-15x", "2026-01-15T12:00:00+99:00", "T12:00:00", "12:00:00",
		"Thu, 32 Jan 2026 12:00:00 GMT", "ada@example.com", "user-2026-01-15", "2026-01-15-a",
	} {
		assert.Falsef(t, adapter.IsDate(v), "IsDate(%v) is true", v)
	}
}
