package webauthn

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/go-webauthn/webauthn/protocol/webauthncbor"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
)

// errUnfit is the error of a key that can't verify any signature.
var errUnfit = errors.New("webauthn: the public key does not fit its algorithm")

// minModulus is the length in bits of the shortest RSA key that is accepted
// (RFC 8812, section 2, and RFC 8230, section 2).
const minModulus = 2048

// checkKey refuses a public key with which nobody could sign in later: its type
// or curve is not the one that its algorithm needs (WebAuthn Level 3, section
// 5.8.5), its point is not on the curve, or it is too short. Without an
// attestation no other step verifies a signature before the key is stored. It
// returns the algorithm.
func checkKey(cose []byte) (alg int, err error) {
	var named webauthncose.PublicKeyData
	if err := webauthncbor.Unmarshal(cose, &named); err != nil {
		return 0, errMalformed
	}
	alg = int(named.Algorithm)
	key, err := webauthncose.ParsePublicKey(cose)
	if err != nil {
		return alg, fmt.Errorf("%w: %s", errUnfit, detail(err))
	}
	if rsa, ok := key.(webauthncose.RSAPublicKeyData); ok {
		n, e := new(big.Int).SetBytes(rsa.Modulus), new(big.Int).SetBytes(rsa.Exponent)
		if n.BitLen() < minModulus || n.Bit(0) == 0 || e.BitLen() < 2 || e.Bit(0) == 0 || !isRSA(alg) {
			return alg, errUnfit
		}
	}
	return alg, nil
}

func isRSA(alg int) bool {
	switch webauthncose.COSEAlgorithmIdentifier(alg) {
	case webauthncose.AlgRS256, webauthncose.AlgRS384, webauthncose.AlgRS512, webauthncose.AlgPS256, webauthncose.AlgPS384, webauthncose.AlgPS512:
		return true
	default:
		return false
	}
}
