package mutants

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func fidelityMutants() []Mutant {
	return []Mutant{
		{Name: "provider tokens exchanged", Fails: []string{"DATA-01", "ACCT-02"}, AuthJS: true,
			Fault: "LinkAccount stores access_token and refresh_token in each other's column",
			mem: func(m *mem) with {
				return storing(m, func(record any) {
					if a, ok := record.(*adapter.Account); ok {
						a.AccessToken, a.RefreshToken = a.RefreshToken, a.AccessToken
					}
				})
			}},
		{Name: "null image is read as the empty string", Fails: []string{"DATA-02", "USER-02"},
			Fault: "CreateUser stores an image that is null as the empty string",
			mem: func(m *mem) with {
				return storing(m, func(record any) {
					if u, ok := record.(*adapter.User); ok && u.Image == nil {
						u.Image = new("")
					}
				})
			}},
		{Name: "empty name is null", Fails: []string{"DATA-03"},
			Fault: "the empty string is stored as null",
			mem: func(m *mem) with {
				return storing(m, func(record any) {
					if u, ok := record.(*adapter.User); ok && u.Name != nil && *u.Name == "" {
						u.Name = nil
					}
				})
			}},
		{Name: "texts like dates become dates", Listed: "M39", Fails: []string{"DATA-04"},
			Fault: "a text that parses as a date is returned as that date in UTC",
			mem: func(m *mem) with {
				return storing(m, texts(func(s string) string {
					if t, err := time.Parse(time.RFC3339, s); err == nil {
						return t.UTC().Format(time.RFC3339Nano)
					}
					return s
				}))
			}},
		{Name: "texts of digits become numbers", Fails: []string{"DATA-05"},
			Fault: "an account id of digits passes through a float",
			mem: func(m *mem) with {
				return storing(m, func(record any) {
					if a, ok := record.(*adapter.Account); ok {
						if f, err := strconv.ParseFloat(a.ProviderAccountID, 64); err == nil {
							a.ProviderAccountID = strconv.FormatFloat(f, 'f', -1, 64)
						}
					}
				})
			}},
		{Name: "four-byte characters lost", Fails: []string{"DATA-06"},
			Fault: "characters outside the basic plane are stored as question marks",
			mem: func(m *mem) with {
				return storing(m, texts(func(s string) string {
					return strings.Map(func(r rune) rune {
						if r > 0xffff {
							return '?'
						}
						return r
					}, s)
				}))
			}},
		{Name: "names are normalised", Fails: []string{"DATA-07"},
			Fault: "decomposed accents are composed",
			mem:   func(m *mem) with { return storing(m, texts(strings.NewReplacer("e\u0301", "é").Replace)) }},
		{Name: "long names cut", Fails: []string{"DATA-08", "DATA-09"},
			Fault: "a name is cut at 200 bytes",
			mem: func(m *mem) with {
				return storing(m, func(record any) {
					if u, ok := record.(*adapter.User); ok && u.Name != nil {
						u.Name = new((*u.Name)[:min(len(*u.Name), 200)])
					}
				})
			}},
		{Name: "long addresses refused", Fails: []string{"DATA-09"},
			Fault: "CreateUser fails for an e-mail of more than 255 characters",
			mem: func(m *mem) with {
				return with{createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
					if len([]rune(u.Email)) > 255 {
						return nil, errors.New("mem: value too long for column")
					}
					return m.CreateUser(ctx, u)
				}}
			}},
		{Name: "names are trimmed", Fails: []string{"DATA-10"},
			Fault: "blanks around a name are lost",
			mem: func(m *mem) with {
				return storing(m, func(record any) {
					if u, ok := record.(*adapter.User); ok && u.Name != nil {
						u.Name = new(strings.TrimSpace(*u.Name))
					}
				})
			}},
		{Name: "line breaks are changed", Fails: []string{"DATA-11"},
			Fault: "a carriage return is stored as a newline",
			mem:   func(m *mem) with { return storing(m, texts(strings.NewReplacer("\r", "\n").Replace)) }},
		{Name: "zero expiry is not set", Fails: []string{"DATA-12"},
			Fault: "expires_at 0 is stored as null",
			mem: func(m *mem) with {
				return storing(m, func(record any) {
					if a, ok := record.(*adapter.Account); ok && a.ExpiresAt != nil && *a.ExpiresAt == 0 {
						a.ExpiresAt = nil
					}
				})
			}},
		{Name: "invalid UTF-8 is replaced", Fails: []string{"DATA-13"},
			Fault: "bytes that are not UTF-8 are stored as replacement characters",
			mem: func(m *mem) with {
				return storing(m, texts(func(s string) string { return strings.ToValidUTF8(s, "\ufffd") }))
			}},
	}
}
