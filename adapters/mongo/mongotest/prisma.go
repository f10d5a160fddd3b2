package mongotest

import (
	"context"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/gatehouse-go/gatehouse/adapters/mongo"
	"github.com/gatehouse-go/gatehouse/adaptertest"
)

// MakePrisma makes the collections and indexes that prisma db push makes for the schema
// that authjs.dev documents.
func MakePrisma(ctx context.Context, db *mgo.Database, prefix string) error {
	for collection, indexes := range map[string][]string{
		"User": {"email"}, "Account": {"provider providerAccountId"}, "Session": {"sessionToken"},
		"VerificationToken": {"identifier token"}, "Authenticator": {"userId _id"},
	} {
		if err := db.CreateCollection(ctx, prefix+collection); err != nil {
			return err
		}
		for _, fields := range indexes {
			key := bson.D{}
			for field := range strings.FieldsSeq(fields) {
				key = append(key, bson.E{Key: field, Value: int32(1)})
			}
			name := collection + "_" + strings.ReplaceAll(fields, " ", "_") + "_key"
			command := bson.D{{Key: "createIndexes", Value: prefix + collection},
				{Key: "indexes", Value: bson.A{bson.D{{Key: "key", Value: key}, {Key: "name", Value: name}, {Key: "unique", Value: true}}}}}
			if err := db.RunCommand(ctx, command).Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// ApplyIndexChanges runs the commands of IndexChanges.
func ApplyIndexChanges(ctx context.Context, db *mgo.Database, a *mongo.Adapter) error {
	commands, err := a.IndexChanges(ctx)
	if err != nil {
		return err
	}
	return Run(ctx, db, strings.Join(commands, "; "))
}

// Run runs the commands in an advice of the adapter, as mongosh does.
func Run(ctx context.Context, db *mgo.Database, advice string) error {
	const begin = "db.runCommand("
	for part := range strings.SplitSeq(advice, begin) {
		end := strings.LastIndex(part, "})")
		if end < 0 || !strings.HasPrefix(part, "{") {
			continue
		}
		var command bson.D
		if err := bson.UnmarshalExtJSON([]byte(part[:end+1]), false, &command); err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
		if err := db.RunCommand(ctx, command).Err(); err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
	}
	return nil
}

// waivers are the clauses that no adapter can keep on the collections of Prisma as they
// are: these and no others.
var waivers = []adaptertest.Waiver{
	{Clause: "USER-12", Reason: address},
	{Clause: "USER-29", Reason: address},
	{Clause: "VOL-04", Reason: "no index has the owners of accounts, sessions and passkeys", Racy: true},
}

const address = "the unique index of the address lets only one user have none, so a user without an address is refused (RequiresEmail)"
