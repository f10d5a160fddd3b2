package mutants

import (
	"context"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func timeMutants() []Mutant {
	return []Mutant{
		{Name: "update keeps seconds", Fails: []string{"TIME-01"},
			Fault: "UpdateUser stores emailVerified in seconds, CreateUser in milliseconds.",
			lite: given[*lite](updateUser, func(u *adapter.UserUpdate) {
				if at, set := u.EmailVerified.Get(); set && at != nil {
					u.EmailVerified = adapter.To(new(at.Truncate(time.Second)))
				}
			})},
		{Name: "wall clock stored", Listed: "M19", Fails: []string{"TIME-01", "TIME-08"}, Process: true,
			Fault: "instants are formatted in the zone of the argument, and parsed as UTC",
			lite:  storing[*lite](instants(wallClock))},
		{Name: "short extension is not written", Fails: []string{"TIME-02"},
			Fault: "UpdateSession returns an extension by less than a minute and does not store it.",
			mem: on(updateSession, func(ctx context.Context, m *mem, u adapter.SessionUpdate) (*adapter.Session, error) {
				s, ok := look(m, &m.sessions, u.SessionToken)
				if to, set := u.Expires.Get(); ok && set && !u.UserID.IsSet() && to.After(s.Expires) && to.Sub(s.Expires) < time.Minute {
					if err := m.begin(ctx); err != nil {
						return nil, err
					}
					s.Expires = to.UTC()
					return &s, nil
				}
				return m.UpdateSession(ctx, u)
			})},
		{Name: "expiry rounded up", Listed: "M18", Fails: []string{"TIME-02", "VTOK-11"},
			Fault: "all expires are stored as seconds, rounded up", lite: storing[*lite](func(record any) {
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
			})},
		{Name: "instants cut to seconds", Fails: []string{"TIME-03"}, AuthJS: true,
			Fault: "instants are stored as seconds, without the fraction",
			mem:   storing[*mem](instants(func(t time.Time) time.Time { return t.Truncate(time.Second) }))},
		{Name: "instants in 32 bits", Fails: []string{"TIME-05", "TIME-06"}, Fault: "instants after 2038 wrap around",
			mem: storing[*mem](instants(func(t time.Time) time.Time {
				if s := t.Unix(); s > math.MaxInt32 {
					return time.Unix(int64(int32(s)), 0)
				}
				return t
			}))},
		{Name: "last year refused", Fails: []string{"TIME-06"}, Fault: "a session that expires in the year 9999 is refused",
			mem: refusing(createSession, errors.New("mem: datetime field overflow"), func(_ *mem, s adapter.Session) bool {
				return s.Expires.Year() > 9998
			})},
		{Name: "past instants are replaced by the present", Fails: []string{"TIME-07"}, AuthJS: true,
			Fault: "emailVerified in the past is stored as the time of the call",
			mem: preparing(createUser, func(m *mem, u *adapter.User) {
				if u.EmailVerified != nil && u.EmailVerified.Before(m.clock.Now()) {
					u.EmailVerified = new(m.clock.Now())
				}
			})},
		{Name: "local wall clock stored", Fails: []string{"TIME-08"}, Process: true,
			Fault: "instants are formatted in the zone of the process, and parsed as UTC",
			lite: storing[*lite](instants(func(t time.Time) time.Time {
				return wallClock(t.Local()) //nolint:gosmopolitan // the fault
			}))},
		{Name: "monotonic clock stored as text", Fails: []string{"TIME-09"},
			Fault: "instants are stored as Go's default text, which can't be parsed if it contains a monotonic clock reading",
			mem: refusing(createSession, errors.New("mem: extra text in time"), func(_ *mem, s adapter.Session) bool {
				return strings.Contains(s.Expires.String(), " m=")
			})},
		{Name: "epoch is null", Fails: []string{"TIME-10"}, Fault: "emailVerified at the Unix epoch is stored as null",
			mem: storing[*mem](func(record any) {
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
			})},
		{Name: "instants are nanoseconds", Fails: []string{"TIME-11"},
			Fault: "instants are kept as a count of nanoseconds in 64 bits",
			mem:   storing[*mem](instants(func(t time.Time) time.Time { return time.Unix(0, t.UnixNano()) }))},
		{Name: "instants are 32-bit seconds", Fails: []string{"TIME-11"},
			Fault: "instants are kept as unsigned 32-bit seconds, with milliseconds beside them",
			lite: storing[*lite](instants(func(t time.Time) time.Time {
				return time.Unix(int64(uint32(t.Unix())), int64(t.Nanosecond())) //nolint:gosec // the fault
			}))},
		{Name: "instants before 1970 are cut to the wrong side", Fails: []string{"TIME-11"},
			Fault: "the milliseconds of an instant before 1970 are added to the next second",
			mem: storing[*mem](instants(func(t time.Time) time.Time {
				if s := t.Unix(); s < 0 && t.Nanosecond() > 0 {
					return time.Unix(s+1, int64(t.Nanosecond()))
				}
				return t
			}))},
		{Name: "instants end in 2100", Fails: []string{"TIME-11"},
			Fault: "an instant after 2100 is treated as a mistake and stored as the last instant of 2100",
			lite: func(l *lite, w *with) {
				last := time.Date(2100, 12, 31, 23, 59, 59, 0, time.UTC)
				storing[*lite](instants(func(t time.Time) time.Time {
					if t.After(last) {
						return last
					}
					return t
				}))(l, w)
			}},
		{Name: "listed sessions have the zone of the process", Fails: []string{"TIME-12"},
			Fault: "ListSessionsByUserID returns each expiry in the zone of the process.",
			mem: on(listSessions, func(ctx context.Context, m *mem, id string) ([]adapter.Session, error) {
				list, err := m.ListSessionsByUserID(ctx, id)
				for i := range list {
					list[i].Expires = list[i].Expires.Local()
				}
				return list, err
			})},
		{Name: "new token has the zone of the argument", Fails: []string{"TIME-12"},
			Fault: "CreateVerificationToken returns the expiry in the zone in which it was given.",
			lite: changed[*lite](createToken, func(t adapter.VerificationToken, got *adapter.VerificationToken) {
				got.Expires = got.Expires.In(t.Expires.Location())
			})},
		{Name: "touch has the zone of the argument", Fails: []string{"TIME-12"},
			Fault: "TouchAuthenticator returns the instant of use in the zone in which it was given.",
			mem: onTouch(func(ctx context.Context, m *mem, id string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
				a, err := m.TouchAuthenticator(ctx, id, from, to, used)
				if a != nil {
					a.LastUsed = &used
				}
				return a, err
			})},
	}
}

// wallClock reads the local time of day as if it were UTC.
func wallClock(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

func roundUp(t time.Time) time.Time { return t.Add(999 * time.Millisecond).Truncate(time.Second) }
