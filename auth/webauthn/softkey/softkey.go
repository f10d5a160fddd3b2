// Package softkey is an authenticator in software, for tests of sites that sign
// people in with passkeys. It answers the options of a ceremony as a browser
// with an authenticator does, and can break any rule on request. The package
// promises nothing: it changes in any version, as the tests need.
package softkey

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/go-webauthn/webauthn/protocol/webauthncbor"
)

// COSE algorithms.
const (
	EdDSA = -8
	ES256 = -7
	ES384 = -35
	RS256 = -257
	// RS1 is RSA with SHA-1, which sites should not accept.
	RS1 = -65535
)

// Flags of authenticator data (WebAuthn Level 3, section 6.1).
const (
	UP byte = 1 << 0
	UV byte = 1 << 2
	BE byte = 1 << 3
	BS byte = 1 << 4
	AT byte = 1 << 6
	ED byte = 1 << 7
)

// Key is one credential.
type Key struct {
	ID        []byte
	Algorithm int
	// Handle is the user handle. It is taken from the options of the
	// registration.
	Handle string
	RPID   string
	// Counter is the next signature counter. Each signature adds Step to it.
	Counter, Step uint32
	Flags         byte
	AAGUID        [16]byte
	Transports    []string
	// Format and Statement replace the attestation none.
	Format    string
	Statement func(k *Key, authData, clientDataHash []byte) map[string]any

	signer crypto.Signer
}

// New makes the credential of a synced passkey: it verifies the user, is backed
// up, and has no signature counter.
func New(t testing.TB, algorithm int) *Key {
	t.Helper()
	k := &Key{ID: make([]byte, 16), Algorithm: algorithm, Flags: UP | UV | BE | BS, Transports: []string{"internal", "hybrid"}}
	_, _ = rand.Read(k.ID) // never fails
	var err error
	switch algorithm {
	case EdDSA:
		_, k.signer, err = ed25519.GenerateKey(rand.Reader)
	case ES384:
		k.signer, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case RS256, RS1:
		k.signer, err = rsa.GenerateKey(rand.Reader, 2048)
	default:
		k.signer, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// WithSigner replaces the private key by another for the same algorithm.
func (k *Key) WithSigner(signer crypto.Signer) *Key {
	k.signer = signer
	return k
}

// Signer returns the private key.
func (k *Key) Signer() crypto.Signer { return k.signer }

// IDText returns the credential ID as browsers write it, in base64url.
func (k *Key) IDText() string { return base64.RawURLEncoding.EncodeToString(k.ID) }

// StoredID returns the credential ID as adapters store it, in standard base64.
func (k *Key) StoredID() string { return base64.StdEncoding.EncodeToString(k.ID) }

// COSE returns the public key in CBOR (RFC 9052, section 7).
func (k *Key) COSE() []byte {
	m := map[int]any{3: k.Algorithm}
	switch pub := k.signer.Public().(type) {
	case *ecdsa.PublicKey:
		point, _ := pub.Bytes() // never fails for the curves in use
		n := (len(point) - 1) / 2
		m[1], m[-1], m[-2], m[-3] = 2, 1, point[1:1+n], point[1+n:]
		if k.Algorithm == ES384 {
			m[-1] = 2
		}
	case ed25519.PublicKey:
		m[1], m[-1], m[-2] = 1, 6, []byte(pub)
	case *rsa.PublicKey:
		e := binary.BigEndian.AppendUint32(nil, uint32(pub.E))
		m[1], m[-1], m[-2] = 3, pub.N.Bytes(), e[1:]
	}
	return mustCBOR(m)
}

func mustCBOR(v any) []byte {
	b, err := webauthncbor.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// Client is the part of an answer that a browser adds, with its possible
// faults.
type Client struct {
	Origin string
	// Type replaces webauthn.create or webauthn.get.
	Type string
	// Challenge replaces the challenge of the options.
	Challenge string
	// RPID replaces the relying party ID of the options.
	RPID string
	// More are further members of the client data.
	More map[string]any
	// ChangeData, ChangeAuthData, ChangeSignature and ChangeAnswer alter parts
	// of the answer. The key signs the altered client data and authenticator
	// data.
	ChangeData      func([]byte) []byte
	ChangeAuthData  func([]byte) []byte
	ChangeSignature func([]byte) []byte
	ChangeAnswer    func(answer map[string]any)
}

func (c *Client) data(kind, challenge string) []byte {
	m := map[string]any{
		"type": cmp.Or(c.Type, kind), "challenge": cmp.Or(c.Challenge, challenge), "origin": c.Origin, "crossOrigin": false,
	}
	maps.Copy(m, c.More)
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	if c.ChangeData != nil {
		b = c.ChangeData(b)
	}
	return b
}

func (k *Key) authData(rpID string, attested bool) []byte {
	sum := sha256.Sum256([]byte(rpID))
	flags := k.Flags
	if attested {
		flags |= AT
	}
	b := append(sum[:], flags)
	b = binary.BigEndian.AppendUint32(b, k.Counter)
	k.Counter += k.Step
	if attested {
		b = append(b, k.AAGUID[:]...)
		b = binary.BigEndian.AppendUint16(b, uint16(len(k.ID)))
		b = append(append(b, k.ID...), k.COSE()...)
	}
	return b
}

// Sign signs data with the algorithm of the key.
func (k *Key) Sign(data []byte) []byte {
	hash := crypto.SHA256
	switch k.Algorithm {
	case EdDSA:
		hash = crypto.Hash(0)
	case ES384:
		hash = crypto.SHA384
	case RS1:
		hash = crypto.SHA1
	}
	digest := data
	if hash != 0 {
		h := hash.New()
		h.Write(data)
		digest = h.Sum(nil)
	}
	sig, err := k.signer.Sign(rand.Reader, digest, hash)
	if err != nil {
		panic(err)
	}
	return sig
}

// Register returns the answer to the options of a registration, as JSON.
func (k *Key) Register(t testing.TB, options []byte, c Client) string {
	t.Helper()
	var o struct {
		Challenge string
		RP        struct{ ID string }
		User      struct{ ID string }
	}
	if err := json.Unmarshal(options, &o); err != nil {
		t.Fatal(err)
	}
	k.Handle, k.RPID = o.User.ID, cmp.Or(c.RPID, o.RP.ID)
	client := c.data("webauthn.create", o.Challenge)
	authData := k.authData(k.RPID, true)
	if c.ChangeAuthData != nil {
		authData = c.ChangeAuthData(authData)
	}
	format, statement := "none", map[string]any{}
	if k.Statement != nil {
		hash := sha256.Sum256(client)
		format, statement = k.Format, k.Statement(k, authData, hash[:])
	}
	object := mustCBOR(map[string]any{"fmt": format, "attStmt": statement, "authData": authData})
	return k.answer(c, map[string]any{
		"clientDataJSON": b64(client), "attestationObject": b64(object), "transports": k.Transports,
	}, map[string]any{"credProps": map[string]any{"rk": true}})
}

// Authenticate returns the answer to the options of an authentication, as JSON.
func (k *Key) Authenticate(t testing.TB, options []byte, c Client) string {
	t.Helper()
	var o struct {
		Challenge string
		RPID      string
	}
	if err := json.Unmarshal(options, &o); err != nil {
		t.Fatal(err)
	}
	client := c.data("webauthn.get", o.Challenge)
	authData := k.authData(cmp.Or(c.RPID, o.RPID), false)
	if c.ChangeAuthData != nil {
		authData = c.ChangeAuthData(authData)
	}
	hash := sha256.Sum256(client)
	signature := k.Sign(slices.Concat(authData, hash[:]))
	if c.ChangeSignature != nil {
		signature = c.ChangeSignature(signature)
	}
	response := map[string]any{"clientDataJSON": b64(client), "authenticatorData": b64(authData), "signature": b64(signature)}
	if k.Handle != "" {
		response["userHandle"] = b64([]byte(k.Handle))
	}
	return k.answer(c, response, map[string]any{})
}

func (k *Key) answer(c Client, response, extensions map[string]any) string {
	m := map[string]any{
		"id": k.IDText(), "rawId": k.IDText(), "type": "public-key", "response": response,
		"clientExtensionResults": extensions, "authenticatorAttachment": "platform",
	}
	if c.ChangeAnswer != nil {
		c.ChangeAnswer(m)
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
