// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentrunprocessor // import "github.com/tapedeck/tapedeck/processor/agentrunprocessor"

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/redact"
)

// maxTenantBytes bounds a tenant. Longer names are cut, and their digest keeps them distinct.
const maxTenantBytes = 256

func bounded(tenant string) string {
	if len(tenant) <= maxTenantBytes {
		return tenant
	}
	sum := sha256.Sum256([]byte(tenant))
	return strings.ToValidUTF8(tenant[:maxTenantBytes/2], "") + "~" + hex.EncodeToString(sum[:])
}

// ofRequest is the tenant that the metadata of a request names, or the default.
func (c *TenantConfig) ofRequest(ctx context.Context) string {
	if c.From == tenantFromMetadata {
		// A key that is sent twice counts as not sent.
		if values := client.FromContext(ctx).Metadata.Get(c.Key); len(values) == 1 && values[0] != "" {
			return values[0]
		}
	}
	return c.Default
}

// ofResource is the tenant that a resource names, or else that of the request. Metadata of a request does not pass through redaction with
// the spans, so it is redacted here as the resource was.
func (c *TenantConfig) ofResource(r pcommon.Resource, request string) string {
	switch c.From {
	case tenantFromResource:
		if v, ok := r.Attributes().Get(c.Key); ok && v.Type() == pcommon.ValueTypeStr && v.Str() != "" {
			return bounded(v.Str())
		}
	case tenantFromMetadata:
		if marker, ok := handover.OpenMarker(r.Attributes()); ok && request != c.Default {
			if by := redact.ByMarker(marker); by != nil {
				request = by.Identity(c.Key, request)
			}
		}
	}
	return bounded(request)
}
