// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	sqlcatalog "github.com/apache/iceberg-go/catalog/sql"
	_ "modernc.org/sqlite" // the driver of SQL catalogs, without cgo
)

// catalogFlags name a catalog.
type catalogFlags struct{ uri, name, warehouse string }

// open opens the catalog. Its errors do not repeat the address, which may hold credentials.
func (f catalogFlags) open(ctx context.Context) (catalog.Catalog, error) {
	u, err := url.Parse(f.uri)
	if err != nil {
		return nil, fmt.Errorf("--catalog is not a URI")
	}
	switch u.Scheme {
	case "http", "https":
		var options []rest.Option
		if token := os.Getenv("TAPEDECK_ICEBERG_TOKEN"); token != "" {
			options = append(options, rest.WithOAuthToken(token))
		}
		if credential := os.Getenv("TAPEDECK_ICEBERG_CREDENTIAL"); credential != "" {
			options = append(options, rest.WithCredential(credential))
		}
		if f.warehouse != "" {
			options = append(options, rest.WithWarehouseLocation(f.warehouse))
		}
		return rest.NewCatalog(ctx, f.name, f.uri, options...)
	case "sqlite":
		path := strings.TrimPrefix(u.Path, "/") // as SQLAlchemy has it: three slashes and a path
		if path == "" || u.Host != "" {
			return nil, fmt.Errorf("the catalog of SQLite is sqlite:///PATH, or sqlite:////PATH from the root")
		}
		db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)&_txlock=immediate")
		if err != nil {
			return nil, err
		}
		c, err := sqlcatalog.NewCatalog(f.name, db, sqlcatalog.SQLite, iceberg.Properties{})
		if err != nil {
			return nil, fmt.Errorf("open SQL catalog: %w", err)
		}
		return c, nil
	}
	return nil, fmt.Errorf("no catalog of scheme %q: there are sqlite, http and https", u.Scheme)
}
