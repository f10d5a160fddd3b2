package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// server is what the adapter needs to know about a connection.
type server struct {
	database  string
	collation string // of keys: byte for byte, without padding
	foldsCase bool   // names of tables that differ in case are one
}

// collations are the collations that compare texts byte for byte and do not pad them.
var collations = []string{"utf8mb4_nopad_bin", "utf8mb4_0900_bin"}

// look reads the settings of the connection. The error names those that would change what
// a call stores or returns.
func (a *Adapter) look(ctx context.Context) (*server, error) {
	o := on{a, a.db, a.inTx, nil}
	var version, database *string
	var folds int
	var packet int64
	var instant any
	// VERSION() may be that of the MySQL behind Vitess.
	err := o.query(ctx, "SELECT @@version, DATABASE(), @@lower_case_table_names, @@max_allowed_packet, CAST('2000-01-01' AS DATETIME)",
		func(rows *sql.Rows) error { return rows.Scan(&version, &database, &folds, &packet, &instant) })
	if err != nil {
		return nil, err
	}
	if database == nil || version == nil {
		return nil, errors.New("the connection has no database: name one in the DSN")
	}
	a.packet.Store(packet)
	_, parsed := instant.(time.Time)
	a.texts.Store(!parsed)
	a.tidb.Store(strings.Contains(*version, "TiDB"))
	a.vitess.Store(strings.Contains(*version, "Vitess"))
	s := &server{database: *database, collation: collations[1], foldsCase: folds != 0}
	if strings.Contains(*version, "MariaDB") {
		s.collation = collations[0]
	}
	isolation := "transaction_isolation"
	if s.collation == collations[0] { // MariaDB before 11.1 has only the older name
		isolation = "tx_isolation"
	}
	names := []string{"character_set_client", "character_set_connection", "character_set_results", "autocommit",
		"foreign_key_checks", "unique_checks", "sql_mode", isolation}
	values := make([]sql.NullString, len(names))
	var into []any
	for i := range values {
		into = append(into, &values[i])
	}
	err = o.query(ctx, "SELECT @@"+strings.Join(names, ", @@"), func(rows *sql.Rows) error { return rows.Scan(into...) })
	if err != nil {
		return nil, err
	}
	settings := map[string]string{}
	for i, name := range names {
		settings[name] = strings.ToUpper(values[i].String)
	}
	settings["isolation"] = settings[isolation]
	err = o.query(ctx, "SHOW SESSION VARIABLES WHERE Variable_name IN ('completion_type', 'wsrep_on', 'wsrep_sync_wait', 'wsrep_dirty_reads')",
		func(rows *sql.Rows) error {
			var name, value string
			err := rows.Scan(&name, &value)
			settings[name] = value
			return err
		})
	a.galera.Store(settings["wsrep_on"] == "ON")
	if a.vitess.Load() {
		err = errors.Join(err, o.keyspace(ctx, *database, settings))
	}
	return s, errors.Join(err, a.refuse(settings))
}

// keyspace adds what Vitess says of the database of the connection: a keyspace, or a part of one, as app:-80 and app@replica
// are.
func (o on) keyspace(ctx context.Context, database string, settings map[string]string) error {
	name := strings.TrimSuffix(database, "@primary")
	if strings.ContainsAny(name, ":/@") {
		settings["part"] = name
		return nil
	}
	shards := 0
	err := o.query(ctx, "SHOW VITESS_SHARDS", func(rows *sql.Rows) error {
		var shard string
		err := rows.Scan(&shard)
		if strings.HasPrefix(shard, name+"/") {
			shards++
		}
		return err
	})
	settings["shards"] = strconv.Itoa(shards)
	return err
}

// unfit is the error of a connection with which the adapter can't work.
type unfit struct{ error }

func (u unfit) Unwrap() error { return u.error }

// refuse returns an error that names the settings with which the adapter can't work.
func (a *Adapter) refuse(settings map[string]string) error {
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for _, name := range []string{"character_set_client", "character_set_connection", "character_set_results"} {
		if settings[name] != "UTF8MB4" {
			problem("%s is %q and would change texts: the DSN needs charset=utf8mb4, or no charset", name,
				strings.ToLower(settings[name]))
		}
	}
	for name, why := range map[string]string{
		"foreign_key_checks": "records without a user could be stored",
		"unique_checks":      "two records with one key could be stored",
	} {
		if settings[name] == "0" {
			problem("%s is off: %s", name, why)
		}
	}
	if !a.inTx && settings["autocommit"] == "0" {
		problem("autocommit is off: a read would see an old snapshot")
	}
	switch settings["completion_type"] {
	case "CHAIN":
		problem("completion_type is CHAIN: a read after a write would see an old snapshot")
	case "RELEASE":
		problem("completion_type is RELEASE: each write would close its connection")
	}
	if settings["isolation"] == "READ-UNCOMMITTED" {
		problem("the isolation level is READ UNCOMMITTED: a call would see what is never committed")
	}
	for _, mode := range []string{"EMPTY_STRING_IS_NULL", "ORACLE"} {
		if slices.Contains(strings.Split(settings["sql_mode"], ","), mode) {
			problem("sql_mode has %s, which changes empty texts", mode)
		}
	}
	if settings["wsrep_on"] == "ON" {
		if waits, err := strconv.Atoi(settings["wsrep_sync_wait"]); err != nil || waits&1 == 0 {
			problem("wsrep_sync_wait is %s: a node would miss what another has just stored; the DSN needs wsrep_sync_wait=1",
				settings["wsrep_sync_wait"])
		}
		if settings["wsrep_dirty_reads"] == "ON" {
			problem("wsrep_dirty_reads is on: a node that has left the cluster would answer with old records")
		}
	}
	if part := settings["part"]; part != "" {
		problem("the database is %s, where a read would miss what was just stored, or what is in another shard: name the keyspace alone", part)
	}
	if shards, err := strconv.Atoi(settings["shards"]); err == nil && shards > 1 {
		problem("the keyspace has %d shards, and a key is unique in each alone: the tables need a keyspace with one", shards)
	}
	if len(problems) == 0 {
		return nil
	}
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return unfit{errors.Join(problems...)}
}

// prepare compares the tables with the schema, once for each adapter, unless EnsureSchema
// or CheckSchema has already found them complete.
func (a *Adapter) prepare(ctx context.Context) error {
	compared, err := a.compare(ctx)
	if err == nil {
		err = compared.err()
	}
	if err == nil {
		a.shape.Store(compared.shape)
		a.ready.Store(true)
	}
	return err
}
