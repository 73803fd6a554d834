// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentrunprocessor // import "github.com/tapedeck/tapedeck/processor/agentrunprocessor"

import (
	"context"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// ofRequest is the tenant that the metadata of a request names, or the default.
func (c *TenantConfig) ofRequest(ctx context.Context) string {
	if c.From == tenantFromMetadata {
		// A client that sends the key twice is not believed twice.
		if values := client.FromContext(ctx).Metadata.Get(c.Key); len(values) == 1 && values[0] != "" {
			return values[0]
		}
	}
	return c.Default
}

// ofResource is the tenant that a resource names, or else that of the request.
func (c *TenantConfig) ofResource(r pcommon.Resource, request string) string {
	if c.From == tenantFromResource {
		if v, ok := r.Attributes().Get(c.Key); ok && v.Type() == pcommon.ValueTypeStr && v.Str() != "" {
			return v.Str()
		}
	}
	return request
}
