package providers

import (
	"cmp"

	"github.com/gatehouse-go/gatehouse/auth"
)

// emailVerified returns the function that reads what the provider states about
// an address. The flag of a row is about the address that the row's own mapping
// finds, and about no other.
func (r *row) emailVerified() func(auth.Profile, string) auth.EmailProof {
	if r.verified == "" && r.proof == nil {
		return auth.StandardEmailProof
	}
	flag := r.proof
	if flag == nil {
		at, err := parsePath(r.verified)
		if err != nil {
			return auth.StandardEmailProof // a test compiles every row
		}
		flag = func(profile auth.Profile) auth.EmailProof { return auth.EmailProofOf(at(&evidence{profile: profile})) }
	}
	address, err := field(cmp.Or(r.profile.email, "email"), r.profile.emailBy)
	if err != nil {
		return auth.StandardEmailProof
	}
	return func(profile auth.Profile, email string) auth.EmailProof {
		proof := flag(profile)
		if proof == auth.EmailProven && !sameAddress(address(&evidence{profile: profile}), email) {
			return auth.EmailUnstated
		}
		return proof
	}
}

// sameAddress compares two addresses as StandardEmailProof does.
func sameAddress(a, b string) bool {
	return auth.StandardEmailProof(auth.Profile{"email": a, "email_verified": true}, b) == auth.EmailProven
}

// kakaoProof needs both flags: is_email_valid becomes false when another Kakao
// account takes the address.
// https://developers.kakao.com/docs/latest/en/kakaologin/rest-api#req-user-info
func kakaoProof(profile auth.Profile) auth.EmailProof {
	account, _ := profile["kakao_account"].(map[string]any)
	verified, valid := auth.EmailProofOf(account["is_email_verified"]), auth.EmailProofOf(account["is_email_valid"])
	if verified == auth.EmailProven && valid == auth.EmailRefuted {
		return auth.EmailRefuted
	}
	return verified
}

// gitlabProof reads confirmed_at: the time at which the address was confirmed,
// and null before that. https://docs.gitlab.com/api/users/#get-the-current-user
func gitlabProof(profile auth.Profile) auth.EmailProof {
	switch confirmed, present := profile["confirmed_at"]; {
	case text(confirmed) != "":
		return auth.EmailProven
	case present:
		return auth.EmailRefuted
	}
	return auth.StandardEmailProof(profile, text(profile["email"]))
}
