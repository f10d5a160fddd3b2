package bench

import (
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
)

// workload is the measurement of one method. prepare returns a call for a user of the population. If the call
// deletes a record, prepare creates that record first.
type workload struct {
	method  string
	prepare func(tb testing.TB, s *benchmarks, k *kit.Records) kit.Call
}

// reading measures a lookup of a user's record.
func reading(method string) workload {
	return workload{method, func(_ testing.TB, _ *benchmarks, k *kit.Records) kit.Call { return k.CallOf(method) }}
}

// creating measures the creation of a record of a user.
func creating(kind kit.Kind) workload {
	return workload{kit.KindOf(kind).Create, func(_ testing.TB, s *benchmarks, k *kit.Records) kit.Call {
		return kit.NewDraft(s.c, kind, k.User.ID).Create()
	}}
}

// removing measures the removal of a record that was created before.
func removing(method string, kind kit.Kind) workload {
	return workload{method, func(tb testing.TB, s *benchmarks, k *kit.Records) kit.Call {
		d := kit.NewDraft(s.c, kind, k.User.ID)
		s.call(tb, d.Create(), s.adapter)
		return d.Remove()
	}}
}

// workloads has the lookups first, because in some stores each record that other workloads leave makes lookups slower.
var workloads = []workload{
	reading("GetUser"),
	reading("GetUserByEmail"),
	reading("GetUserByAccount"),
	reading("GetAccount"),
	reading("GetSessionAndUser"),
	reading("GetAuthenticator"),
	reading("ListAuthenticatorsByUserID"),
	{"CreateUser", func(_ testing.TB, s *benchmarks, _ *kit.Records) kit.Call { return kit.CreateUser(s.c.NewUser()) }},
	{"UpdateUser", func(_ testing.TB, s *benchmarks, k *kit.Records) kit.Call {
		return kit.UpdateUser(kit.UserUpdate(s.c, k.User.ID, []string{"name", "image"}))
	}},
	{"DeleteUser", func(tb testing.TB, s *benchmarks, _ *kit.Records) kit.Call {
		k, err := s.person()
		if err != nil {
			tb.Fatal(err)
		}
		return kit.DeleteUser(k.User.ID)
	}},
	creating(kit.AccountRecord),
	removing("UnlinkAccount", kit.AccountRecord),
	creating(kit.SessionRecord),
	{"UpdateSession", func(_ testing.TB, s *benchmarks, k *kit.Records) kit.Call {
		return kit.ExtendSession(k.Session.SessionToken, s.c.Instant(2*time.Hour))
	}},
	removing("DeleteSession", kit.SessionRecord),
	creating(kit.VerificationTokenRecord),
	removing("UseVerificationToken", kit.VerificationTokenRecord),
	creating(kit.AuthenticatorRecord),
	{"UpdateAuthenticatorCounter", func(_ testing.TB, s *benchmarks, k *kit.Records) kit.Call {
		k.Authenticator.Counter++
		return kit.UpdateAuthenticatorCounter(k.Authenticator.CredentialID, k.Authenticator.Counter)
	}},
}
