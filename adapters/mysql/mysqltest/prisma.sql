CREATE TABLE `User` (
	`id` VARCHAR(191) NOT NULL, `name` VARCHAR(191) NULL, `email` VARCHAR(191) NOT NULL, `emailVerified` DATETIME(3) NULL, `image` VARCHAR(191) NULL,
	`createdAt` DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), `updatedAt` DATETIME(3) NOT NULL,
	UNIQUE INDEX `User_email_key`(`email`), PRIMARY KEY (`id`)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
CREATE TABLE `Account` (
	`userId` VARCHAR(191) NOT NULL, `type` VARCHAR(191) NOT NULL, `provider` VARCHAR(191) NOT NULL, `providerAccountId` VARCHAR(191) NOT NULL,
	`refresh_token` TEXT NULL, `access_token` TEXT NULL, `expires_at` INTEGER NULL, `token_type` VARCHAR(191) NULL, `scope` VARCHAR(191) NULL,
	`id_token` TEXT NULL, `session_state` VARCHAR(191) NULL,
	`createdAt` DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), `updatedAt` DATETIME(3) NOT NULL,
	PRIMARY KEY (`provider`, `providerAccountId`)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
CREATE TABLE `Session` (
	`sessionToken` VARCHAR(191) NOT NULL, `userId` VARCHAR(191) NOT NULL, `expires` DATETIME(3) NOT NULL,
	`createdAt` DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), `updatedAt` DATETIME(3) NOT NULL,
	UNIQUE INDEX `Session_sessionToken_key`(`sessionToken`)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
CREATE TABLE `VerificationToken` (
	`identifier` VARCHAR(191) NOT NULL, `token` VARCHAR(191) NOT NULL, `expires` DATETIME(3) NOT NULL,
	PRIMARY KEY (`identifier`, `token`)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
CREATE TABLE `Authenticator` (
	`credentialID` VARCHAR(191) NOT NULL, `userId` VARCHAR(191) NOT NULL, `providerAccountId` VARCHAR(191) NOT NULL,
	`credentialPublicKey` VARCHAR(191) NOT NULL, `counter` INTEGER NOT NULL, `credentialDeviceType` VARCHAR(191) NOT NULL,
	`credentialBackedUp` BOOLEAN NOT NULL, `transports` VARCHAR(191) NULL,
	UNIQUE INDEX `Authenticator_credentialID_key`(`credentialID`), PRIMARY KEY (`userId`, `credentialID`)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
ALTER TABLE `Account` ADD CONSTRAINT `Account_userId_fkey` FOREIGN KEY (`userId`) REFERENCES `User`(`id`) ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE `Session` ADD CONSTRAINT `Session_userId_fkey` FOREIGN KEY (`userId`) REFERENCES `User`(`id`) ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE `Authenticator` ADD CONSTRAINT `Authenticator_userId_fkey` FOREIGN KEY (`userId`) REFERENCES `User`(`id`) ON DELETE CASCADE ON UPDATE CASCADE;
