package mongo_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/gatehouse-go/gatehouse/adapters/mongo"
	"github.com/gatehouse-go/gatehouse/adapters/mongo/mongotest"
)

// The code of docs/migrate.md, which shows the lines above each return; the test has another database.

func atAuthJS(client database) (*mongo.Adapter, error) {
	store, err := mongo.New(client.Database("app"))
	return store, err
}

func atPrisma(client database) (*mongo.Adapter, error) {
	store, err := mongo.New(client.Database("app"), mongo.WithCollections(mongo.Prisma()))
	return store, err
}

// database stands for a client, whose database has a name that no other test has.
type database struct{ db *mgo.Database }

func (d database) Database(string) *mgo.Database { return d.db }

// TestMigrate follows docs/migrate.md at each site. Then every user, account, session and passkey is what it
// was.
func TestMigrate(t *testing.T) {
	page := string(must(os.ReadFile("../../docs/migrate.md"))(t))
	prisma := ada()
	prisma["authenticators"]["_id"] = "credential"
	delete(prisma["authenticators"], "credentialID")
	for origin, open := range map[string]func(database) (*mongo.Adapter, error){"@auth/mongodb-adapter": atAuthJS, "Prisma on MongoDB": atPrisma} {
		t.Run(origin, func(t *testing.T) {
			require.Contains(t, page, "\n### "+origin+"\n", "the guide has no such section")
			db := standalone.connect(t).Database(standalone.newDatabase(t))
			if strings.HasPrefix(origin, "Prisma") {
				require.NoError(t, mongotest.MakePrisma(t.Context(), db, ""))
				store(t, db, prisma, map[string]string{"users": "User", "accounts": "Account", "sessions": "Session", "authenticators": "Authenticator"})
			} else {
				store(t, db, ada(), nil)
			}
			a := must(open(database{db}))(t)
			require.NoError(t, a.EnsureIndexes(t.Context()))
			isAda(t, a)
		})
	}
}
