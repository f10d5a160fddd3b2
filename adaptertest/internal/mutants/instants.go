package mutants

import (
	"context"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func instantMutants() []Mutant {
	return []Mutant{
		{Name: "wall clock stored", Listed: "M19", Fails: []string{"TIME-01", "TIME-08"}, Process: true,
			Fault: "instants are formatted in the zone of the argument, and parsed as UTC",
			lite:  func(l *lite) with { return storing(l, instants(wallClock)) }},
		{Name: "local wall clock stored", Fails: []string{"TIME-08"}, Process: true,
			Fault: "instants are formatted in the zone of the process, and parsed as UTC",
			lite: func(l *lite) with {
				return storing(l, instants(func(t time.Time) time.Time { return wallClock(t.Local()) })) //nolint:gosmopolitan // the fault
			}},
		{Name: "expiry rounded up", Listed: "M18", Fails: []string{"TIME-02", "VTOK-11"},
			Fault: "all expires are stored as seconds, rounded up",
			lite: func(l *lite) with {
				return storing(l, func(record any) {
					switch r := record.(type) {
					case *adapter.Session:
						r.Expires = roundUp(r.Expires)
					case *adapter.VerificationToken:
						r.Expires = roundUp(r.Expires)
					case *adapter.SessionUpdate:
						if t, set := r.Expires.Get(); set {
							r.Expires = adapter.To(roundUp(t))
						}
					}
				})
			}},
		{Name: "instants cut to seconds", Fails: []string{"TIME-03"}, AuthJS: true,
			Fault: "instants are stored as seconds, without the fraction",
			mem: func(m *mem) with {
				return storing(m, instants(func(t time.Time) time.Time { return t.Truncate(time.Second) }))
			}},
		{Name: "instants in 32 bits", Fails: []string{"TIME-05", "TIME-06"},
			Fault: "instants after 2038 wrap around",
			mem: func(m *mem) with {
				return storing(m, instants(func(t time.Time) time.Time {
					if s := t.Unix(); s > math.MaxInt32 {
						return time.Unix(int64(int32(s)), 0)
					}
					return t
				}))
			}},
		{Name: "last year refused", Fails: []string{"TIME-06"},
			Fault: "a session that expires in the year 9999 is refused",
			mem: func(m *mem) with {
				return with{createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					if s.Expires.Year() > 9998 {
						return nil, errors.New("mem: datetime field overflow")
					}
					return m.CreateSession(ctx, s)
				}}
			}},
		{Name: "past instants are replaced by the present", Fails: []string{"TIME-07"}, AuthJS: true,
			Fault: "emailVerified in the past is stored as the time of the call",
			mem: func(m *mem) with {
				return storing(m, func(record any) {
					if u, ok := record.(*adapter.User); ok && u.EmailVerified != nil && u.EmailVerified.Before(m.clock.Now()) {
						u.EmailVerified = new(m.clock.Now())
					}
				})
			}},
		{Name: "monotonic clock stored as text", Fails: []string{"TIME-09"},
			Fault: "instants are stored as Go's default text, which can't be parsed if it contains a monotonic clock reading",
			mem: func(m *mem) with {
				return with{createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					if strings.Contains(s.Expires.String(), " m=") {
						return nil, errors.New("mem: extra text in time")
					}
					return m.CreateSession(ctx, s)
				}}
			}},
		{Name: "epoch is null", Fails: []string{"TIME-10"},
			Fault: "emailVerified at the Unix epoch is stored as null",
			mem: func(m *mem) with {
				return storing(m, func(record any) {
					switch r := record.(type) {
					case *adapter.User:
						if r.EmailVerified != nil && r.EmailVerified.UnixMilli() == 0 {
							r.EmailVerified = nil
						}
					case *adapter.UserUpdate:
						if t, set := r.EmailVerified.Get(); set && t != nil && t.UnixMilli() == 0 {
							r.EmailVerified = adapter.To[*time.Time](nil)
						}
					}
				})
			}},
	}
}

// wallClock reads the local time of day as if it were UTC.
func wallClock(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

func roundUp(t time.Time) time.Time { return t.Add(999 * time.Millisecond).Truncate(time.Second) }
