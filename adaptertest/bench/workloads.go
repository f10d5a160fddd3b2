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

// creating measures the creation of a record of a user.
func creating(kind kit.Kind) workload {
	return workload{kit.KindOf(kind).Create, func(s *benchmarks, k *kit.Records) (kit.Call, error) {
		return kit.NewDraft(s.c, kind, k.User.ID).Create(), nil
	}}
}

// removing measures the removal of a record that was created before.
func removing(method string, kind kit.Kind) workload {
	return workload{method, func(s *benchmarks, k *kit.Records) (kit.Call, error) {
		d := kit.NewDraft(s.c, kind, k.User.ID)
		return s.after(d.Create(), d.Remove())
	}}
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
	creating(kit.AccountRecord),
	removing("UnlinkAccount", kit.AccountRecord),
	creating(kit.SessionRecord),
	{"UpdateSession", func(s *benchmarks, k *kit.Records) (kit.Call, error) {
		return kit.UpdateSession(adapter.SessionUpdate{SessionToken: k.Session.SessionToken, Expires: adapter.To(s.c.Instant(2 * time.Hour))}), nil
	}},
	removing("DeleteSession", kit.SessionRecord),
	creating(kit.VerificationTokenRecord),
	removing("UseVerificationToken", kit.VerificationTokenRecord),
	creating(kit.AuthenticatorRecord),
	{"UpdateAuthenticatorCounter", func(s *benchmarks, k *kit.Records) (kit.Call, error) {
		k.Authenticator.Counter++
		return kit.UpdateAuthenticatorCounter(k.Authenticator.CredentialID, k.Authenticator.Counter), nil
	}},
}
