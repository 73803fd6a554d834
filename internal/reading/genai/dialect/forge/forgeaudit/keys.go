// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package forgeaudit

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Keys are the public keys that may have signed a stream, by key id.
type Keys map[string]ed25519.PublicKey

// ReadKeys reads a JWK set (RFC 7517, RFC 8037) as a Forge agent serves it at /.well-known/forge-audit-keys.
// Keys of other kinds are passed over; a set without an Ed25519 key is an error.
func ReadKeys(data []byte) (Keys, error) {
	var set struct {
		Keys []struct {
			Kty, Crv, X, Kid string
		}
	}
	if err := json.Unmarshal(data, &set); err != nil {
		return nil, errors.New("not a JWK set")
	}
	keys := Keys{}
	for _, k := range set.Keys {
		if k.Kty != "OKP" || k.Crv != "Ed25519" {
			continue
		}
		x, err := base64.RawURLEncoding.DecodeString(k.X)
		if err != nil || len(x) != ed25519.PublicKeySize {
			return nil, fmt.Errorf("key %q is no Ed25519 public key", k.Kid)
		}
		if other, twice := keys[k.Kid]; twice && !slices.Equal(other, x) {
			return nil, fmt.Errorf("two keys have the id %q", k.Kid)
		}
		keys[k.Kid] = x
	}
	if len(keys) == 0 {
		return nil, errors.New("the JWK set holds no Ed25519 key")
	}
	return keys, nil
}

// signed reports whether a record carries a signature, and the reason why that does not verify: "" when it
// does. The signature covers the RFC 8785 form of the record without its member sig (sigp "jcs-1"). Integers
// beyond 2^53, whose canonical form differs there, are in no audit record. A record that has them does not
// verify.
func (k Keys) signed(body exactjson.Value) (carries bool, reason string) {
	text := body.Get("sig")
	if text.IsAbsent() {
		return false, ""
	}
	key, known := k[body.Get("kid").Str()]
	if !known {
		return true, "it is signed with a key that was not given"
	}
	if profile := body.Get("sigp"); !profile.IsAbsent() && profile.Str() != "jcs-1" {
		return true, "it is signed in a way that is not known"
	}
	sig, err := base64.StdEncoding.DecodeString(text.Str())
	if err != nil {
		return true, "its signature is not base64"
	}
	members := slices.DeleteFunc(slices.Clone(body.Members()), func(m exactjson.Member) bool { return m.Name == "sig" })
	canonical, err := exactjson.ObjectValue(members...).AppendCanonical(nil)
	if err != nil || !ed25519.Verify(key, canonical, sig) {
		return true, "its signature does not verify"
	}
	return true, ""
}
