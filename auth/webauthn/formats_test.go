package webauthn_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/webauthn"
	"github.com/gatehouse-go/gatehouse/auth/webauthn/softkey"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lie says what is wrong with an attestation; the zero value is a correct one.
// Each format uses some of the fields.
type lie struct {
	about    func(signed []byte) []byte      // the data that is signed in place of the right data
	cert     func(c *x509.Certificate)       // the certificate
	key      crypto.Signer                   // the key that is certified in place of the right one
	members  func(statement map[string]any)  // the statement
	hardware func(list map[int]any)          // android-key: the list that the secure hardware enforces
	software func(list map[int]any)          // android-key: the list that the software enforces
	header   func(header map[string]any)     // android-safetynet
	payload  func(payload map[string]any)    // android-safetynet
	certInfo func(certInfo []byte) []byte    // tpm
	pubArea  func(pubArea []byte) []byte     // tpm
	maker    func(attributes []tpmAttribute) // tpm
}

func (l lie) signed(data []byte) []byte {
	if l.about != nil {
		return l.about(slices.Clone(data))
	}
	return data
}

func (l lie) template(c x509.Certificate) x509.Certificate {
	if l.cert != nil {
		l.cert(&c)
	}
	return c
}

func (l lie) certified(right crypto.Signer) crypto.Signer {
	if l.key != nil {
		return l.key
	}
	return right
}

func (l lie) statement(members map[string]any) map[string]any {
	if l.members != nil {
		l.members(members)
	}
	return members
}

// attester gives a key an attestation that a maker signs.
type attester func(t testing.TB, m maker, k *softkey.Key, l lie)

// attests sets the attestation statement of a key.
func attests(k *softkey.Key, format string, statement func(authData, clientDataHash []byte) map[string]any) {
	k.AAGUID = [16]byte{1, 2, 3}
	k.Format = format
	k.Statement = func(_ *softkey.Key, authData, clientDataHash []byte) map[string]any {
		return statement(authData, clientDataHash)
	}
}

func signSHA256(t testing.TB, key crypto.Signer, data []byte) []byte {
	t.Helper()
	sum := sha256.Sum256(data)
	return must(key.Sign(rand.Reader, sum[:], crypto.SHA256))(t)
}

// part is a part of a JWS: JSON in base64url.
func part(t testing.TB, v any) string {
	return base64.RawURLEncoding.EncodeToString([]byte(encode(t, v)))
}

func mustDER(t testing.TB, v any, params string) []byte {
	t.Helper()
	return must(asn1.MarshalWithParams(v, params))(t)
}

// packed makes the format of WebAuthn Level 3, section 8.2.
func packed(t testing.TB, m maker, k *softkey.Key, l lie) {
	key := newECKey(t)
	attests(k, "packed", func(authData, hash []byte) map[string]any {
		c := m.certifies(t, key.Public(), l.template(x509.Certificate{
			Subject: pkix.Name{Country: []string{"SE"}, Organization: []string{"Maker"}, OrganizationalUnit: []string{"Authenticator Attestation"}, CommonName: "Key"},
		}))
		sig := signSHA256(t, l.certified(key), l.signed(slices.Concat(authData, hash)))
		return l.statement(map[string]any{"alg": softkey.ES256, "sig": sig, "x5c": m.chain(c)})
	})
}

// fidoU2F makes the format of WebAuthn Level 3, section 8.6. Such keys have no
// AAGUID, do not verify the user and are never backed up. Their statement has
// exactly one certificate.
func fidoU2F(t testing.TB, m maker, k *softkey.Key, l lie) {
	key := newECKey(t)
	attests(k, "fido-u2f", func(authData, hash []byte) map[string]any {
		c := m.direct().certifies(t, key.Public(), l.template(x509.Certificate{Subject: pkix.Name{CommonName: "U2F"}}))
		point := must(k.Signer().Public().(*ecdsa.PublicKey).Bytes())(t)
		sig := signSHA256(t, l.certified(key), l.signed(slices.Concat([]byte{0}, authData[:32], hash, k.ID, point)))
		return l.statement(map[string]any{"sig": sig, "x5c": []any{c.Raw}})
	})
	k.AAGUID, k.Flags = [16]byte{}, softkey.UP
}

// apple makes the format of WebAuthn Level 3, section 8.8.
func apple(t testing.TB, m maker, k *softkey.Key, l lie) {
	attests(k, "apple", func(authData, hash []byte) map[string]any {
		nonce := sha256.Sum256(l.signed(slices.Concat(authData, hash)))
		c := m.certifies(t, l.certified(k.Signer()).Public(), l.template(x509.Certificate{
			Subject: pkix.Name{CommonName: "credential"},
			ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 2, 840, 113635, 100, 8, 2}, Value: mustDER(t, struct {
				Nonce []byte `asn1:"tag:1,explicit"`
			}{nonce[:]}, "")}},
		}))
		return l.statement(map[string]any{"x5c": m.chain(c)})
	})
}

// androidKey makes the format of WebAuthn Level 3, section 8.4.
func androidKey(t testing.TB, m maker, k *softkey.Key, l lie) {
	list := func(members map[int]any, change func(map[int]any)) asn1.RawValue {
		if change != nil {
			change(members)
		}
		var b []byte
		for _, tag := range []int{1, 503, 600, 702, 999} {
			v, ok := members[tag]
			if !ok {
				continue
			}
			params := ""
			if _, set := v.([]int); set {
				params = "set"
			}
			b = append(b, mustDER(t, asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: tag, IsCompound: true, Bytes: mustDER(t, v, params)}, "")...)
		}
		return asn1.RawValue{Tag: asn1.TagSequence, IsCompound: true, Bytes: b}
	}
	attests(k, "android-key", func(authData, hash []byte) map[string]any {
		type description struct {
			Version            int
			SecurityLevel      asn1.Enumerated
			KeymasterVersion   int
			KeymasterLevel     asn1.Enumerated
			Challenge          []byte
			UniqueID           []byte
			Software, Hardware asn1.RawValue
		}
		c := m.certifies(t, l.certified(k.Signer()).Public(), l.template(x509.Certificate{
			Subject: pkix.Name{CommonName: "Android Keystore Key"},
			ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 1, 17}, Value: mustDER(t, description{
				Version: 4, SecurityLevel: 1, KeymasterVersion: 41, KeymasterLevel: 1, Challenge: l.signed(hash), UniqueID: []byte{},
				Software: list(map[int]any{}, l.software),
				Hardware: list(map[int]any{1: []int{2}, 503: asn1.NullRawValue, 702: 0}, l.hardware),
			}, "")}},
		}))
		return l.statement(map[string]any{"alg": softkey.ES256, "sig": k.Sign(slices.Concat(authData, hash)), "x5c": m.chain(c)})
	})
}

// safetyNet makes the format of WebAuthn Level 3, section 8.5.
func safetyNet(t testing.TB, m maker, k *softkey.Key, l lie) {
	key := mustRSA(t)
	attests(k, "android-safetynet", func(authData, hash []byte) map[string]any {
		c := m.certifies(t, key.Public(), l.template(x509.Certificate{
			Subject: pkix.Name{CommonName: "attest.android.com"}, DNSNames: []string{"attest.android.com"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		}))
		nonce := sha256.Sum256(l.signed(slices.Concat(authData, hash)))
		header := map[string]any{"alg": "RS256", "x5c": []string{b64std(c.Raw), b64std(m.intermediate.Raw)}}
		payload := map[string]any{"nonce": b64std(nonce[:]), "timestampMs": time.Now().UnixMilli(), "ctsProfileMatch": true, "basicIntegrity": true}
		if l.header != nil {
			l.header(header)
		}
		if l.payload != nil {
			l.payload(payload)
		}
		text := part(t, header) + "." + part(t, payload)
		sig := signSHA256(t, l.certified(key), []byte(text))
		return l.statement(map[string]any{"ver": "223101000", "response": []byte(text + "." + base64.RawURLEncoding.EncodeToString(sig))})
	})
}

type tpmAttribute = pkix.AttributeTypeAndValue

// sized makes a TPM2B structure: the size in two bytes, then the content.
func sized(b []byte) []byte { return append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...) }

// tpm makes the format of WebAuthn Level 3, section 8.3, with the structures of
// Trusted Platform Module Library, part 2, sections 10.12 and 12.2.
func tpm(t testing.TB, m maker, k *softkey.Key, l lie) {
	key := newECKey(t)
	attests(k, "tpm", func(authData, hash []byte) map[string]any {
		point := must(k.Signer().Public().(*ecdsa.PublicKey).Bytes())(t)
		// TPMT_PUBLIC: ECC, names by SHA-256, attributes, no policy; no symmetric
		// algorithm, no scheme, NIST P-256, no KDF; the point.
		pubArea := slices.Concat([]byte{0, 0x23, 0, 0x0b, 0, 0x06, 0x04, 0x72}, sized(nil), []byte{0, 0x10, 0, 0x10, 0, 0x03, 0, 0x10}, sized(point[1:33]), sized(point[33:]))
		if l.pubArea != nil {
			pubArea = l.pubArea(pubArea)
		}
		name := sha256.Sum256(pubArea)
		extra := sha256.Sum256(l.signed(slices.Concat(authData, hash)))
		// TPMS_ATTEST: magic, certify, signer, extra data, clock, firmware; the
		// name and the qualified name of the certified key.
		certInfo := slices.Concat([]byte{0xff, 'T', 'C', 'G', 0x80, 0x17}, sized(nil), sized(extra[:]), make([]byte, 17), make([]byte, 8),
			sized(append([]byte{0, 0x0b}, name[:]...)), sized(nil))
		if l.certInfo != nil {
			certInfo = l.certInfo(certInfo)
		}
		attributes := []tpmAttribute{
			{Type: asn1.ObjectIdentifier{2, 23, 133, 2, 1}, Value: "id:49465800"},
			{Type: asn1.ObjectIdentifier{2, 23, 133, 2, 2}, Value: "Model"},
			{Type: asn1.ObjectIdentifier{2, 23, 133, 2, 3}, Value: "id:00020008"},
		}
		if l.maker != nil {
			l.maker(attributes)
		}
		names := asn1.RawValue{Tag: asn1.TagSequence, IsCompound: true, Bytes: mustDER(t, asn1.RawValue{
			Class: asn1.ClassContextSpecific, Tag: 4, IsCompound: true, Bytes: mustDER(t, pkix.RDNSequence{attributes}, ""),
		}, "")}
		c := m.certifies(t, key.Public(), l.template(x509.Certificate{
			UnknownExtKeyUsage: []asn1.ObjectIdentifier{{2, 23, 133, 8, 3}},
			ExtraExtensions:    []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 17}, Critical: true, Value: mustDER(t, names, "")}},
		}))
		return l.statement(map[string]any{
			"ver": "2.0", "alg": softkey.ES256, "x5c": m.chain(c), "sig": signSHA256(t, l.certified(key), certInfo), "certInfo": certInfo, "pubArea": pubArea,
		})
	})
}

var attesters = map[string]attester{
	"packed": packed, "fido-u2f": fidoU2F, "apple": apple, "tpm": tpm, "android-key": androidKey, "android-safetynet": safetyNet,
}

// TestAttestationFormats: an attestation of each format is accepted if its
// certificates lead to a trust anchor of the application. It is refused if they
// lead elsewhere, if it is about another ceremony, if it has expired, or if the
// options did not ask for it.
func TestAttestationFormats(t *testing.T) {
	trusted, stranger := newMaker(t), newMaker(t)
	asks := func(m maker) webauthn.Option {
		return webauthn.WithAttestation("direct", webauthn.Trust{Roots: []*x509.Certificate{m.root}})
	}
	otherData := lie{about: func(b []byte) []byte { b[0] ^= 1; return b }}
	expired := lie{cert: func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }}
	const nonce, chain = "made for another ceremony", "certificate could not be verified"
	about := map[string]string{
		"packed": "Signature validation", "fido-u2f": "Signature validation", "tpm": "ExtraData", "apple": nonce, "android-key": nonce, "android-safetynet": nonce,
	}
	dated := map[string]string{
		"packed": "no longer valid", "fido-u2f": "no longer valid", "tpm": "no longer valid", "apple": chain, "android-key": chain, "android-safetynet": chain,
	}
	for format, attest := range attesters {
		for name, c := range map[string]struct {
			maker  maker
			lie    lie
			option webauthn.Option
			reason string // empty: the attestation is accepted
		}{
			"trusted":                {trusted, lie{}, asks(trusted), ""},
			"of a stranger":          {stranger, lie{}, asks(trusted), chain},
			"about another ceremony": {trusted, otherData, asks(trusted), about[format]},
			"expired":                {trusted, expired, asks(trusted), dated[format]},
			"not asked for":          {trusted, lie{}, nil, "an attestation that was not requested"},
		} {
			t.Run(format+" "+name, func(t *testing.T) {
				t.Parallel()
				registersAttested(t, c.option, func(k *softkey.Key) { attest(t, c.maker, k, c.lie) }, c.reason)
			})
		}
	}
}

// TestAttestationLies: an attestation of a trusted maker is refused if it
// breaks a rule of its format.
func TestAttestationLies(t *testing.T) {
	trusted := newMaker(t)
	asks := webauthn.WithAttestation("direct", webauthn.Trust{Roots: []*x509.Certificate{trusted.root}})
	other := newECKey(t)
	set := func(name string, v any) func(map[string]any) { return func(m map[string]any) { m[name] = v } }
	drop := func(name string) func(map[string]any) { return func(m map[string]any) { delete(m, name) } }
	tag := func(tag int, v any) func(map[int]any) { return func(m map[int]any) { m[tag] = v } }
	aaguid := func(id byte) func(c *x509.Certificate) {
		return func(c *x509.Certificate) {
			value := append([]byte{0x04, 0x10, id, 2, 3}, make([]byte, 13)...)
			c.ExtraExtensions = append(c.ExtraExtensions, pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 45724, 1, 1, 4}, Value: value})
		}
	}
	for name, c := range map[string]struct {
		attest attester
		lie    lie
		reason string // empty: the attestation is accepted
	}{
		"packed, signed by another key":             {packed, lie{key: other}, "Signature validation error"},
		"packed, certificate of an authority":       {packed, lie{cert: func(c *x509.Certificate) { c.IsCA = true }}, "Attestation certificate"},
		"packed, certificate for something else":    {packed, lie{cert: func(c *x509.Certificate) { c.Subject.OrganizationalUnit = []string{"Web"} }}, "Attestation Certificate Organizational Unit is invalid"},
		"packed, certificate of this kind":          {packed, lie{cert: aaguid(1)}, ""},
		"packed, certificate of another kind":       {packed, lie{cert: aaguid(9)}, "Certificate AAGUID does not match Auth Data certificate"},
		"packed, no signature":                      {packed, lie{members: drop("sig")}, "Error retrieving sig value"},
		"packed, algorithm of another key":          {packed, lie{members: set("alg", softkey.RS256)}, "Signature validation error"},
		"packed, certificates that are none":        {packed, lie{members: set("x5c", []any{[]byte("x")})}, "Error parsing certificate from ASN.1 data"},
		"packed, certificates that are text":        {packed, lie{members: set("x5c", []any{"x"})}, "Error getting certificate from x5c cert chain"},
		"packed, certificates that are no list":     {packed, lie{members: set("x5c", []byte("x"))}, "the response contains no attestation with a certificate"},
		"fido-u2f, signed by another key":           {fidoU2F, lie{key: other}, "Signature validation error"},
		"fido-u2f, two certificates":                {fidoU2F, lie{members: func(m map[string]any) { m["x5c"] = append(m["x5c"].([]any), trusted.root.Raw) }}, "x5c must contain exactly one element"},
		"fido-u2f, no signature":                    {fidoU2F, lie{members: drop("sig")}, "Missing sig data"},
		"apple, certificate for another key":        {apple, lie{key: other}, "the certificate of the attestation is for another key"},
		"apple, no nonce":                           {apple, lie{cert: func(c *x509.Certificate) { c.ExtraExtensions = nil }}, "the attestation statement does not have the form that its format prescribes"},
		"apple, nonce with more behind":             {apple, lie{cert: func(c *x509.Certificate) { e := &c.ExtraExtensions[0]; e.Value = append(e.Value, 0) }}, "the attestation statement does not have the form that its format prescribes"},
		"apple, no certificate":                     {apple, lie{members: drop("x5c")}, "the response contains no attestation with a certificate"},
		"apple, certificates that are none":         {apple, lie{members: set("x5c", []any{[]byte("x")})}, "a certificate of the attestation can't be parsed"},
		"android-key, certificate for another key":  {androidKey, lie{key: other}, "the signature of the attestation is not valid"},
		"android-key, no description":               {androidKey, lie{cert: func(c *x509.Certificate) { c.ExtraExtensions = nil }}, "the attestation statement does not have the form that its format prescribes"},
		"android-key, signature of nothing":         {androidKey, lie{members: set("sig", []byte{})}, "the signature of the attestation is not valid"},
		"android-key, unknown algorithm":            {androidKey, lie{members: set("alg", 4711)}, "the signature of the attestation is not valid"},
		"android-key, imported":                     {androidKey, lie{hardware: tag(702, 2)}, "the attestation does not say that the secure hardware generated the key for signatures"},
		"android-key, origin not told":              {androidKey, lie{hardware: func(m map[int]any) { delete(m, 702) }}, "the attestation does not say that the secure hardware generated the key for signatures"},
		"android-key, to encrypt":                   {androidKey, lie{hardware: tag(1, []int{0, 1})}, "the attestation does not say that the secure hardware generated the key for signatures"},
		"android-key, to sign and to verify":        {androidKey, lie{hardware: tag(1, []int{2, 3})}, ""},
		"android-key, for all applications":         {androidKey, lie{hardware: tag(600, asn1.NullRawValue)}, "the key may be used by all applications"},
		"android-key, for all, says the software":   {androidKey, lie{software: tag(600, asn1.NullRawValue)}, "the key may be used by all applications"},
		"android-key, an unknown member":            {androidKey, lie{hardware: tag(999, 1)}, ""},
		"android-key, only the software vouches":    {androidKey, lie{hardware: func(m map[int]any) { clear(m) }, software: func(m map[int]any) { m[1], m[702] = []int{2}, 0 }}, "the attestation does not say that the secure hardware generated the key for signatures"},
		"android-safetynet, signed by another key":  {safetyNet, lie{key: mustRSA(t)}, "the signature of the attestation is not valid"},
		"android-safetynet, not signed":             {safetyNet, lie{header: set("alg", "none")}, "the attestation statement does not have the form that its format prescribes"},
		"android-safetynet, another algorithm":      {safetyNet, lie{header: set("alg", "HS256")}, "the attestation statement does not have the form that its format prescribes"},
		"android-safetynet, no certificate":         {safetyNet, lie{header: drop("x5c")}, "the attestation statement does not have the form that its format prescribes"},
		"android-safetynet, certificate of another": {safetyNet, lie{cert: func(c *x509.Certificate) { c.DNSNames = []string{"attest.android.com.evil.example"} }}, "the certificate of the attestation is not for the SafetyNet service"},
		"android-safetynet, device altered":         {safetyNet, lie{payload: set("ctsProfileMatch", false)}, "the SafetyNet statement does not say that the device passes the compatibility test"},
		"android-safetynet, device not told":        {safetyNet, lie{payload: drop("ctsProfileMatch")}, "the SafetyNet statement does not say that the device passes the compatibility test"},
		"android-safetynet, an hour old":            {safetyNet, lie{payload: set("timestampMs", time.Now().Add(-time.Hour).UnixMilli())}, "the time in the attestation is too far from now"},
		"android-safetynet, from the future":        {safetyNet, lie{payload: set("timestampMs", time.Now().Add(time.Hour).UnixMilli())}, "the time in the attestation is too far from now"},
		"android-safetynet, no nonce":               {safetyNet, lie{payload: drop("nonce")}, "the attestation was made for another ceremony"},
		"android-safetynet, no version":             {safetyNet, lie{members: drop("ver")}, "the attestation statement does not have the form that its format prescribes"},
		"android-safetynet, no response":            {safetyNet, lie{members: set("response", []byte("a.b"))}, "the attestation statement does not have the form that its format prescribes"},
		"tpm, signed by another key":                {tpm, lie{key: other}, "Signature validation error"},
		"tpm, another version":                      {tpm, lie{members: set("ver", "1.2")}, "WebAuthn only supports TPM 2.0 currently"},
		"tpm, not generated by a TPM":               {tpm, lie{certInfo: func(b []byte) []byte { b[0] = 0; return b }}, "Magic is not set to TPM_GENERATED_VALUE"},
		"tpm, a quote":                              {tpm, lie{certInfo: func(b []byte) []byte { b[5] = 0x18; return b }}, "unmarshalling field 7 of struct of type"},
		"tpm, certifies another key":                {tpm, lie{certInfo: func(b []byte) []byte { b[len(b)-3] ^= 1; return b }}, "Hash value mismatch attested and pubArea"},
		"tpm, public area of another key":           {tpm, lie{pubArea: func(b []byte) []byte { b[len(b)-1] ^= 1; return b }}, "Mismatch between ECCParameters in pubArea and credentialPublicKey"},
		"tpm, public area cut short":                {tpm, lie{pubArea: func(b []byte) []byte { return b[:20] }}, "Unable to decode TPMT_PUBLIC in attestation statement"},
		"tpm, unknown maker":                        {tpm, lie{maker: func(a []tpmAttribute) { a[0].Value = "id:00000000" }}, "Invalid TPM manufacturer"},
		"tpm, maker not told":                       {tpm, lie{cert: func(c *x509.Certificate) { c.ExtraExtensions = nil }}, "Invalid SAN data in AIK certificate"},
		"tpm, certificate with a subject":           {tpm, lie{cert: func(c *x509.Certificate) { c.Subject.CommonName = "TPM" }}, "AIK certificate subject must be empty"},
		"tpm, certificate for something else":       {tpm, lie{cert: func(c *x509.Certificate) { c.UnknownExtKeyUsage = nil }}, "AIK certificate missing EKU"},
		"tpm, certificate of an authority":          {tpm, lie{cert: func(c *x509.Certificate) { c.IsCA = true }}, "AIK certificate basic constraints missing or CA is true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			registersAttested(t, asks, func(k *softkey.Key) { c.attest(t, trusted, k, c.lie) }, c.reason)
		})
	}
}

func mustRSA(t testing.TB) *rsa.PrivateKey {
	t.Helper()
	return must(rsa.GenerateKey(rand.Reader, 2048))(t)
}

// registersAttested registers a new user with a key to which attest has given
// an attestation. It checks that the site accepts the key, or refuses it for
// the reason.
func registersAttested(t *testing.T, option webauthn.Option, attest func(k *softkey.Key), reason string) {
	t.Helper()
	discouraged := webauthn.With(func(p *auth.WebAuthn) { p.UserVerification = auth.UserVerificationDiscouraged })
	s := newSite(t, nil, discouraged, option)
	b := newBrowser(t, s)
	k := softkey.New(t, softkey.ES256)
	attest(k)
	res := b.register(k, "ada@example.com")
	if reason != "" {
		b.wantRefused(res, "refused")
		s.wantQuietLog(t, reason)
		b.wantNobody()
		assert.Nil(t, s.authenticatorsOf(t, "ada@example.com"), "the store")
		return
	}
	require.Equalf(t, b.origin, res.location(), "the registration ends at %q:\n%s", res.location(), s.log.String())
	b.signOut()
	b.wantDone(b.signIn(k))
}
