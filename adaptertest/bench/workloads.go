package bench

import (
	"fmt"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// workload is the measurement of one method. prepare returns a call for a user
// of the population. If the call deletes a record, prepare creates that record
// first.
type workload struct {
	method  string
	prepare func(s *benchmarks, k *kit.Records) (kit.Call, error)
}

// reading measures a lookup of a user's record.
func reading(method string) workload {
	return workload{method, func(_ *benchmarks, k *kit.Records) (kit.Call, error) { return k.CallOf(method), nil }}
}

// after makes one call to prepare, and returns another one to measure.
func (s *benchmarks) after(first, measured kit.Call) (kit.Call, error) {
	if _, err := first.Do(s.c.Ctx, s.adapter); err != nil {
		return kit.Call{}, fmt.Errorf("%s: %w", first.Method, err)
	}
	return measured, nil
}

// workloads has the lookups first, because in some stores each record that other
// workloads leave makes lookups slower.
var workloads = []workload{
	reading("GetUser"),
	reading("GetUserByEmail"),
	reading("GetUserByAccount"),
	reading("GetAccount"),
	reading("GetSessionAndUser"),
	reading("GetAuthenticator"),
	reading("ListAuthenticatorsByUserID"),
	{"CreateUser", func(s *benchmarks, _ *kit.Records) (kit.Call, error) { return kit.CreateUser(s.c.NewUser()), nil }},
	{"UpdateUser", func(s *benchmarks, k *kit.Records) (kit.Call, error) {
		return kit.UpdateUser(kit.UserUpdate(s.c, k.User.ID, []string{"name", "image"})), nil
	}},
	{"DeleteUser", func(s *benchmarks, _ *kit.Records) (kit.Call, error) {
		k, err := s.person()
		if err != nil {
			return kit.Call{}, err
		}
		return kit.DeleteUser(k.User.ID), nil
	}},
	{"LinkAccount", func(s *benchmarks, k *kit.Records) (kit.Call, error) {
		return kit.LinkAccount(s.c.NewAccount(k.User.ID)), nil
	}},
	{"UnlinkAccount", func(s *benchmarks, k *kit.Records) (kit.Call, error) {
		a := s.c.NewAccount(k.User.ID)
		return s.after(kit.LinkAccount(a), kit.UnlinkAccount(a.Key()))
	}},
	{"CreateSession", func(s *benchmarks, k *kit.Records) (kit.Call, error) {
		return kit.CreateSession(s.c.NewSession(k.User.ID)), nil
	}},
	{"UpdateSession", func(s *benchmarks, k *kit.Records) (kit.Call, error) {
		return kit.UpdateSession(adapter.SessionUpdate{SessionToken: k.Session.SessionToken, Expires: adapter.To(s.c.Instant(2 * time.Hour))}), nil
	}},
	{"DeleteSession", func(s *benchmarks, k *kit.Records) (kit.Call, error) {
		session := s.c.NewSession(k.User.ID)
		return s.after(kit.CreateSession(session), kit.DeleteSession(session.SessionToken))
	}},
	{"CreateVerificationToken", func(s *benchmarks, _ *kit.Records) (kit.Call, error) {
		return kit.CreateVerificationToken(s.c.NewToken()), nil
	}},
	{"UseVerificationToken", func(s *benchmarks, _ *kit.Records) (kit.Call, error) {
		t := s.c.NewToken()
		return s.after(kit.CreateVerificationToken(t), kit.UseVerificationToken(t.Key()))
	}},
	{"CreateAuthenticator", func(s *benchmarks, k *kit.Records) (kit.Call, error) {
		return kit.CreateAuthenticator(s.c.NewAuthenticator(k.User.ID)), nil
	}},
	{"UpdateAuthenticatorCounter", func(s *benchmarks, k *kit.Records) (kit.Call, error) {
		k.Authenticator.Counter++
		return kit.UpdateAuthenticatorCounter(k.Authenticator.CredentialID, k.Authenticator.Counter), nil
	}},
}
