CREATE TABLE "user" ("id" text PRIMARY KEY NOT NULL, "name" text, "email" text, "emailVerified" timestamp, "image" text, CONSTRAINT "user_email_unique" UNIQUE ("email"));
CREATE TABLE "account" (
	"userId" text NOT NULL, "type" text NOT NULL, "provider" text NOT NULL, "providerAccountId" text NOT NULL, "refresh_token" text, "access_token" text,
	"expires_at" integer, "token_type" text, "scope" text, "id_token" text, "session_state" text,
	CONSTRAINT "account_provider_providerAccountId_pk" PRIMARY KEY ("provider", "providerAccountId")
);
CREATE TABLE "session" ("sessionToken" text PRIMARY KEY NOT NULL, "userId" text NOT NULL, "expires" timestamp NOT NULL);
CREATE TABLE "verificationToken" (
	"identifier" text NOT NULL, "token" text NOT NULL, "expires" timestamp NOT NULL,
	CONSTRAINT "verificationToken_identifier_token_pk" PRIMARY KEY ("identifier", "token")
);
CREATE TABLE "authenticator" (
	"credentialID" text NOT NULL, "userId" text NOT NULL, "providerAccountId" text NOT NULL, "credentialPublicKey" text NOT NULL, "counter" integer NOT NULL,
	"credentialDeviceType" text NOT NULL, "credentialBackedUp" boolean NOT NULL, "transports" text,
	CONSTRAINT "authenticator_userId_credentialID_pk" PRIMARY KEY ("userId", "credentialID"),
	CONSTRAINT "authenticator_credentialID_unique" UNIQUE ("credentialID")
);
ALTER TABLE "account" ADD CONSTRAINT "account_userId_user_id_fk" FOREIGN KEY ("userId") REFERENCES "user" ("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "authenticator" ADD CONSTRAINT "authenticator_userId_user_id_fk" FOREIGN KEY ("userId") REFERENCES "user" ("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "session" ADD CONSTRAINT "session_userId_user_id_fk" FOREIGN KEY ("userId") REFERENCES "user" ("id") ON DELETE cascade ON UPDATE no action;
