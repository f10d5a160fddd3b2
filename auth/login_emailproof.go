package auth

import (
	"context"
	"encoding/json"
	"strings"
)

// EmailProof is the provider's statement about an e-mail address: whether the
// person has proven to the provider that the address is theirs.
type EmailProof int

const (
	// EmailUnstated means that the provider says nothing about the address.
	EmailUnstated EmailProof = iota
	// EmailProven means that the provider says that the address is verified.
	EmailProven
	// EmailRefuted means that the provider says that the address is not verified.
	EmailRefuted
)

// String returns unstated, proven or refuted.
func (p EmailProof) String() string {
	switch p {
	case EmailProven:
		return "proven"
	case EmailRefuted:
		return "refuted"
	}
	return "unstated"
}

// EmailProofOf reads a flag of a profile, such as the claim email_verified.
// Providers send it as a Boolean, as a number, or as either of them in text.
// All other values, and a missing flag, are EmailUnstated.
func EmailProofOf(flag any) EmailProof {
	switch v := flag.(type) {
	case bool:
		if v {
			return EmailProven
		}
		return EmailRefuted
	case string:
		switch strings.ToLower(v) {
		case "true", "1":
			return EmailProven
		case "false", "0":
			return EmailRefuted
		}
	case json.Number:
		return EmailProofOf(v.String())
	case float64:
		switch v {
		case 1:
			return EmailProven
		case 0:
			return EmailRefuted
		}
	}
	return EmailUnstated
}

// StandardEmailProof reads the claims email and email_verified (OpenID Connect
// Core 1.0 section 5.1). The address is proven only if email_verified is true
// and the address equals the claim email, as FoldEmail compares them: the long s
// is not an s, because it is part of another person's address. A false email_verified refutes the address even if
// the claim email differs.
func StandardEmailProof(profile Profile, email string) EmailProof {
	proof := EmailProofOf(profile["email_verified"])
	if claimed, _ := profile["email"].(string); proof == EmailProven && !sameAddress(claimed, email) {
		return EmailUnstated
	}
	return proof
}

// emailProof returns the provider's statement about the address that Profile
// found in a profile. If a function of the application panics, nothing is
// proven.
func (p *OAuth) emailProof(ctx context.Context, profile Profile, email string) EmailProof {
	if email == "" {
		return EmailUnstated
	}
	if p.EmailVerified == nil {
		return StandardEmailProof(profile, email)
	}
	proof, err := guard(ctx, func(context.Context, Profile) (EmailProof, error) { return p.EmailVerified(profile, email), nil }, profile)
	if err != nil {
		return EmailUnstated
	}
	return proof
}
