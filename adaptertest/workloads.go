package adaptertest

import (
	"fmt"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// workload is the measurement of one method. prepare returns a call for a user
// of the population. If the call deletes a record, prepare creates that record
// first.
type workload struct {
	method  string
	prepare func(s *benchmarks, k *fixture) (call, error)
}

// reading measures a lookup of a user's record.
func reading(method string) workload {
	return workload{method, func(_ *benchmarks, k *fixture) (call, error) { return k.callOf(method), nil }}
}

// after makes one call to prepare, and returns another one to measure.
func (s *benchmarks) after(first, measured call) (call, error) {
	if _, err := first.do(s.c.ctx, s.adapter); err != nil {
		return call{}, fmt.Errorf("%s: %w", first.method, err)
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
	{"CreateUser", func(s *benchmarks, _ *fixture) (call, error) { return createUser(s.c.newUser()), nil }},
	{"UpdateUser", func(s *benchmarks, k *fixture) (call, error) {
		return updateUser(s.c.userUpdate(k.user.ID, []string{"name", "image"})), nil
	}},
	{"DeleteUser", func(s *benchmarks, _ *fixture) (call, error) {
		k, err := s.person()
		if err != nil {
			return call{}, err
		}
		return deleteUser(k.user.ID), nil
	}},
	{"LinkAccount", func(s *benchmarks, k *fixture) (call, error) { return linkAccount(s.c.newAccount(k.user.ID)), nil }},
	{"UnlinkAccount", func(s *benchmarks, k *fixture) (call, error) {
		a := s.c.newAccount(k.user.ID)
		return s.after(linkAccount(a), unlinkAccount(a.Key()))
	}},
	{"CreateSession", func(s *benchmarks, k *fixture) (call, error) { return createSession(s.c.newSession(k.user.ID)), nil }},
	{"UpdateSession", func(s *benchmarks, k *fixture) (call, error) {
		return updateSession(adapter.SessionUpdate{SessionToken: k.session.SessionToken, Expires: adapter.To(s.c.instant(2 * time.Hour))}), nil
	}},
	{"DeleteSession", func(s *benchmarks, k *fixture) (call, error) {
		session := s.c.newSession(k.user.ID)
		return s.after(createSession(session), deleteSession(session.SessionToken))
	}},
	{"CreateVerificationToken", func(s *benchmarks, _ *fixture) (call, error) { return createToken(s.c.newToken()), nil }},
	{"UseVerificationToken", func(s *benchmarks, _ *fixture) (call, error) {
		t := s.c.newToken()
		return s.after(createToken(t), useToken(t.Key()))
	}},
	{"CreateAuthenticator", func(s *benchmarks, k *fixture) (call, error) {
		return createAuthenticator(s.c.newAuthenticator(k.user.ID)), nil
	}},
	{"UpdateAuthenticatorCounter", func(s *benchmarks, k *fixture) (call, error) {
		k.authenticator.Counter++
		return updateCounter(k.authenticator.CredentialID, k.authenticator.Counter), nil
	}},
}
