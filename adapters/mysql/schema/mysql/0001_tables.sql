-- The records of Gatehouse, in the tables and columns of Auth.js's Drizzle adapter.
-- Instants are in UTC; account.expires_at is seconds since the Unix epoch. Keys are
-- compared byte for byte, without padding. The adapter adds the prefix to every name in
-- backticks.

CREATE TABLE `user` (
	seq BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
	id VARCHAR(255) NOT NULL,
	name MEDIUMTEXT,
	email VARCHAR(320),
	emailVerified DATETIME(3),
	image MEDIUMTEXT,
	UNIQUE KEY `user_id_key` (id),
	UNIQUE KEY `user_email_key` (email)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin;

CREATE TABLE `account` (
	seq BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
	userId VARCHAR(255) NOT NULL,
	type VARCHAR(255) NOT NULL,
	provider VARCHAR(255) NOT NULL,
	providerAccountId VARCHAR(255) NOT NULL,
	access_token MEDIUMTEXT,
	refresh_token MEDIUMTEXT,
	id_token MEDIUMTEXT,
	scope MEDIUMTEXT,
	token_type MEDIUMTEXT,
	session_state MEDIUMTEXT,
	expires_at BIGINT,
	authorization_details MEDIUMTEXT,
	UNIQUE KEY `account_provider_key` (provider, providerAccountId),
	KEY `account_userId_idx` (userId),
	CONSTRAINT `account_userId_fkey` FOREIGN KEY (userId) REFERENCES `user` (id) ON DELETE CASCADE
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin;

CREATE TABLE `session` (
	seq BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
	sessionToken VARCHAR(512) NOT NULL,
	userId VARCHAR(255) NOT NULL,
	expires DATETIME(3) NOT NULL,
	UNIQUE KEY `session_sessionToken_key` (sessionToken),
	KEY `session_userId_idx` (userId),
	KEY `session_expires_idx` (expires),
	CONSTRAINT `session_userId_fkey` FOREIGN KEY (userId) REFERENCES `user` (id) ON DELETE CASCADE
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin;

CREATE TABLE `verificationToken` (
	seq BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
	identifier VARCHAR(320) NOT NULL,
	token VARCHAR(512) NOT NULL,
	expires DATETIME(3) NOT NULL,
	pair BINARY(32) GENERATED ALWAYS AS (unhex(sha2(concat(octet_length(identifier),':',identifier,token),256))) STORED,
	UNIQUE KEY `verificationToken_pair_key` (pair),
	KEY `verificationToken_identifier_idx` (identifier),
	KEY `verificationToken_expires_idx` (expires)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin;

CREATE TABLE `authenticator` (
	seq BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
	credentialID VARCHAR(1364) NOT NULL,
	userId VARCHAR(255) NOT NULL,
	providerAccountId VARCHAR(255) NOT NULL,
	credentialPublicKey MEDIUMTEXT NOT NULL,
	counter BIGINT NOT NULL,
	credentialDeviceType VARCHAR(255) NOT NULL,
	credentialBackedUp TINYINT(1) NOT NULL,
	transports MEDIUMTEXT,
	name MEDIUMTEXT,
	created DATETIME(3),
	lastUsed DATETIME(3),
	credential BINARY(32) GENERATED ALWAYS AS (unhex(sha2(credentialID,256))) STORED,
	UNIQUE KEY `authenticator_credential_key` (credential),
	KEY `authenticator_userId_idx` (userId),
	CONSTRAINT `authenticator_userId_fkey` FOREIGN KEY (userId) REFERENCES `user` (id) ON DELETE CASCADE
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin;

-- One row: the version of these tables.
CREATE TABLE `gatehouse_schema` (single TINYINT NOT NULL PRIMARY KEY, version INT NOT NULL) ENGINE=InnoDB;
INSERT INTO `gatehouse_schema` (single, version) VALUES (1, 1) ON DUPLICATE KEY UPDATE version = GREATEST(version, 1);
