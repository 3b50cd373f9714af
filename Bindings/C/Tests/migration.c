/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests of migrations: all items or none, and the rules about keys and values.
 */
#include "test.h"

static size_t count_of(valet_t valet)
{
    valet_keys_t keys;
    size_t count;
    OK(valet_keys(valet, NULL, &keys));
    OK(valet_keys_count(keys, &count));
    OK(valet_keys_free(keys));
    return count;
}

static valet_attribute text(const char *name, const char *value)
{
    valet_attribute attribute;
    memset(&attribute, 0, sizeof(attribute));
    attribute.name = name;
    attribute.name_length = strlen(name);
    attribute.type = VALET_VALUE_TEXT;
    attribute.value = value;
    attribute.value_length = strlen(value);
    return attribute;
}

static valet_attribute number(const char *name, int64_t value)
{
    valet_attribute attribute = text(name, "");
    attribute.type = VALET_VALUE_NUMBER;
    attribute.number = value;
    return attribute;
}

/* Items are copied or moved, from another valet and by a query. */
void test_migration(void)
{
    int32_t can_access;
    valet_migration migration = VALET_INIT(valet_migration);
    valet_t source = valet_named("Source"), other = valet_named("Destination"), third;
    const valet_attribute query[] = {
        text("class", "genp"), number("m_Limit", -1), number("r_Attributes", 1),
        text("svce", "VAL_VALValet_initWithIdentifier:accessibility:_Source_"
                     "AccessibleAfterFirstUnlock"),
    };
    migration.from = source;
    CHECK_STATUS(valet_migrate(other, &migration, NULL), VALET_ITEM_NOT_FOUND);
    check_error(VALET_ITEM_NOT_FOUND, VALET_ERROR_KEYCHAIN, 2, "");
    OK(valet_can_access(source, NULL, &can_access));
    OK(valet_set(source, TEXT("a"), "1", 1, NULL));
    OK(valet_set(source, TEXT("b"), "2", 1, NULL));
    OK(valet_migrate(other, &migration, NULL));
    check_value(other, "a", "1", 1);
    check_value(other, "b", "2", 1);
    check_value(source, "b", "2", 1);
    CHECK_STATUS(valet_migrate(other, &migration, NULL), VALET_DUPLICATE_ITEM);
    check_error(VALET_DUPLICATE_ITEM, VALET_ERROR_MIGRATION, 4, "exists in the valet already");

    OK(valet_remove(other, TEXT("a"), NULL));
    migration.remove_on_completion = 1;
    CHECK_STATUS(valet_migrate(other, &migration, NULL), VALET_DUPLICATE_ITEM);
    CHECK(count_of(source) == 2 && count_of(other) == 1);
    OK(valet_remove(other, TEXT("b"), NULL));
    OK(valet_migrate(other, &migration, NULL));
    CHECK(count_of(source) == 0 && count_of(other) == 2);

    OK(valet_set(source, TEXT("c"), "3", 1, NULL));
    migration.from = NULL;
    migration.attributes = query;
    migration.attribute_count = sizeof(query) / sizeof(query[0]);
    OK(valet_migrate(other, &migration, NULL));
    check_value(other, "c", "3", 1);
    CHECK(count_of(source) == 0);

    /* Between accessibilities of one explicitly set name, an item stays where it is. */
    valet_description description = VALET_INIT(valet_description);
    description.identifier = "Explicit";
    description.identifier_length = strlen("Explicit");
    description.explicitly_set = 1;
    description.accessibility = VALET_WHEN_UNLOCKED;
    OK(valet_close(source));
    OK(valet_open(&description, &source));
    description.accessibility = VALET_AFTER_FIRST_UNLOCK;
    OK(valet_open(&description, &third));
    OK(valet_set(source, TEXT("d"), "4", 1, NULL));
    CHECK_STATUS(valet_set(third, TEXT("d"), "5", 1, NULL), VALET_DUPLICATE_ITEM);
    migration = (valet_migration)VALET_INIT(valet_migration);
    migration.from = source;
    CHECK_STATUS(valet_migrate(third, &migration, NULL), VALET_DUPLICATE_ITEM);
    migration.remove_on_completion = 1;
    OK(valet_migrate(third, &migration, NULL));
    check_value(third, "d", "4", 1);
    CHECK_STATUS(valet_migrate(third, &migration, NULL), VALET_ITEM_NOT_FOUND);
    OK(valet_close(source));
    OK(valet_close(other));
    OK(valet_close(third));
}

static int32_t change_all(void *context, valet_pair *pair)
{
    const char *key = context;
    pair->key.value = key;
    pair->key.value_length = strlen(key);
    pair->value = "v2";
    pair->value_length = 2;
    return VALET_PAIR_KEEP;
}

/* What the program's function changes is stored, also where both valets share the names of items. */
static void check_in_place(const char *key)
{
    valet_description description = VALET_INIT(valet_description);
    valet_migration migration = VALET_INIT(valet_migration);
    valet_t first, second;
    description.identifier = "In place";
    description.identifier_length = strlen("In place");
    description.explicitly_set = 1;
    description.accessibility = VALET_WHEN_UNLOCKED;
    OK(valet_open(&description, &first));
    description.accessibility = VALET_AFTER_FIRST_UNLOCK;
    OK(valet_open(&description, &second));
    OK(valet_set(first, TEXT("k"), "v1", 2, NULL));
    migration.from = first;
    migration.remove_on_completion = 1;
    migration.map = change_all;
    migration.context = (void *)key;
    OK(valet_migrate(second, &migration, NULL));
    CHECK(count_of(first) == 0 && count_of(second) == 1);
    check_value(second, key, "v2", 2);
    OK(valet_remove_all(second, NULL));
    OK(valet_close(first));
    OK(valet_close(second));
}

void test_migration_in_place(void)
{
    check_in_place("k2");
    check_in_place("k");
}

/* Keys that some languages take for one text. */
void test_migration_of_lookalikes(void)
{
    static const char *const names[] = {"\u00e9", "e\u0301", "VAL_\u212aeychainCanaryUsername"};
    valet_migration migration = VALET_INIT(valet_migration);
    valet_t source = valet_named("Source"), other = valet_named("Destination");
    for (size_t index = 0; index < 3; index += 1)
        OK(valet_set(source, TEXT(names[index]), names[index], strlen(names[index]), NULL));
    CHECK(count_of(source) == 3);
    migration.from = source;
    migration.remove_on_completion = 1;
    OK(valet_migrate(other, &migration, NULL));
    CHECK(count_of(source) == 0 && count_of(other) == 3);
    for (size_t index = 0; index < 3; index += 1)
        check_value(other, names[index], names[index], strlen(names[index]));
    OK(valet_close(source));
    OK(valet_close(other));
}

static void refused(valet_t valet, const valet_attribute *query, size_t count, int32_t domain,
                    int32_t code)
{
    valet_error error = VALET_INIT(valet_error);
    valet_migration migration = VALET_INIT(valet_migration);
    migration.attributes = query;
    migration.attribute_count = count;
    CHECK(valet_migrate(valet, &migration, NULL) != VALET_OK);
    OK(valet_last_error(&error));
    CHECK_STATUS(error.domain, domain);
    CHECK_STATUS(error.code, code);
}

/* The attributes of a newer program are larger, and 0 beyond what this version knows. */
static void check_attribute_sizes(valet_t valet)
{
    struct { valet_attribute attribute; uint64_t later[2]; } newer[2];
    const size_t wrong[] = {1, sizeof(valet_attribute) - 1, 4097, SIZE_MAX / 2, SIZE_MAX};
    valet_migration migration = VALET_INIT(valet_migration);
    memset(newer, 0, sizeof(newer));
    newer[0].attribute = text("class", "genp");
    newer[1].attribute = text("svce", "no such service");
    migration.attributes = &newer[0].attribute;
    migration.attribute_count = 2;
    migration.attribute_size = sizeof(newer[0]);
    CHECK_STATUS(valet_migrate(valet, &migration, NULL), VALET_ITEM_NOT_FOUND);
    newer[1].later[1] = 1;
    CHECK_STATUS(valet_migrate(valet, &migration, NULL), VALET_INVALID_ARGUMENT);
    check_error(VALET_INVALID_ARGUMENT, VALET_ERROR_KEYCHAIN, 0, "does not know");
    for (size_t index = 0; index < sizeof(wrong) / sizeof(wrong[0]); index += 1) {
        migration.attribute_size = wrong[index];
        CHECK_STATUS(valet_migrate(valet, &migration, NULL), VALET_INVALID_ARGUMENT);
        check_error(VALET_INVALID_ARGUMENT, VALET_ERROR_KEYCHAIN, 0, "size of an attribute");
    }
}

/* The least and greatest numbers are attributes that nothing has, or refused. */
static void check_attribute_numbers(valet_t valet)
{
    static const char *const names[] = {
        "acct", "svce", "gena", "agrp", "labl", "desc", "icmt", "crtr", "type", "invi", "nega",
        "cusi", "scrp", "alis", "sync", "pdmn", "accc", "cdat", "mdat", "vwht", "class", "nleg",
    };
    static const int64_t numbers[] = {INT64_MIN, INT64_MIN + 1, INT32_MIN, INT64_MAX, -1};
    for (size_t name = 0; name < sizeof(names) / sizeof(names[0]); name += 1) {
        for (size_t index = 0; index < sizeof(numbers) / sizeof(numbers[0]); index += 1) {
            valet_attribute entry = number(names[name], numbers[index]);
            valet_migration migration = VALET_INIT(valet_migration);
            migration.attributes = &entry;
            migration.attribute_count = 1;
            CHECK(valet_migrate(valet, &migration, NULL) != VALET_OK);
        }
    }
}

/* Sources and queries that a migration refuses; retired accessibilities. */
void test_migration_rules(void)
{
    valet_migration migration = VALET_INIT(valet_migration);
    valet_t valet = valet_named("Rules"), source = valet_named("Source"), always;
    valet_attribute entry = text("svce", "x");
    const valet_attribute twice[] = {text("svce", "a"), text("svce", "b")};
    OK(valet_set(source, TEXT("a"), "1", 1, NULL));
    CHECK_STATUS(valet_migrate(valet, NULL, NULL), VALET_INVALID_ARGUMENT);
    CHECK_STATUS(valet_migrate(valet, &migration, NULL), VALET_INVALID_ARGUMENT);
    migration.from = source;
    migration.retired = VALET_ALWAYS;
    CHECK_STATUS(valet_migrate(valet, &migration, NULL), VALET_INVALID_ARGUMENT);
    migration.retired = 0;
    migration.remove_on_completion = 2;
    CHECK_STATUS(valet_migrate(valet, &migration, NULL), VALET_INVALID_ARGUMENT);
    migration.remove_on_completion = 0;
    migration.attribute_count = 1;
    CHECK_STATUS(valet_migrate(valet, &migration, NULL), VALET_INVALID_ARGUMENT);
    refused(valet, &entry, 0, VALET_ERROR_MIGRATION, 0);
    refused(valet, &entry, 65, VALET_ERROR_KEYCHAIN, 0);
    entry = text("class", "inet"), refused(valet, &entry, 1, VALET_ERROR_MIGRATION, 0);
    entry = text("m_Limit", "m_LimitOne"), refused(valet, &entry, 1, VALET_ERROR_MIGRATION, 0);
    entry = number("m_Limit", 5), refused(valet, &entry, 1, VALET_ERROR_MIGRATION, 0);
    entry = number("r_Data", 1), refused(valet, &entry, 1, VALET_ERROR_MIGRATION, 0);
    entry = number("r_Ref", 1), refused(valet, &entry, 1, VALET_ERROR_MIGRATION, 0);
    entry = number("r_Attributes", 0), refused(valet, &entry, 1, VALET_ERROR_MIGRATION, 0);
    entry = number("r_PersistentRef", 0), refused(valet, &entry, 1, VALET_ERROR_MIGRATION, 0);
    entry = text("accc", "x"), refused(valet, &entry, 1, VALET_ERROR_MIGRATION, 0);
    entry = text("srvr", "x"), refused(valet, &entry, 1, VALET_ERROR_KEYCHAIN, 0);
    entry = text("none", "x"), refused(valet, &entry, 1, VALET_ERROR_KEYCHAIN, 0);
    entry = text("pdmn", "x"), refused(valet, &entry, 1, VALET_ERROR_KEYCHAIN, 0);
    entry = number("sync", 2), refused(valet, &entry, 1, VALET_ERROR_KEYCHAIN, 0);
    entry = number("svce", 2), entry.type = 4, refused(valet, &entry, 1, VALET_ERROR_KEYCHAIN, 0);
    entry = text("svce", ""), entry.value = NULL, entry.value_length = 1;
    refused(valet, &entry, 1, VALET_ERROR_KEYCHAIN, 0);
    entry = text("agrp", "another group"), refused(valet, &entry, 1, VALET_ERROR_KEYCHAIN, 3);
    refused(valet, twice, 2, VALET_ERROR_KEYCHAIN, 0);
    check_attribute_sizes(valet);
    check_attribute_numbers(valet);
    CHECK(count_of(valet) == 0);

    migration = (valet_migration)VALET_INIT(valet_migration);
    migration.retired = VALET_WHEN_UNLOCKED;
    CHECK_STATUS(valet_migrate(valet, &migration, NULL), VALET_INVALID_ARGUMENT);
    migration.retired = VALET_ALWAYS;
    CHECK_STATUS(valet_migrate(valet, &migration, NULL), VALET_ITEM_NOT_FOUND);
    always = valet_with("Rules", VALET_ALWAYS);
    CHECK_STATUS(valet_set(always, TEXT("k"), "v", 1, NULL), VALET_INVALID_ARGUMENT);
    migration.retired = 0;
    migration.from = source;
    CHECK_STATUS(valet_migrate(always, &migration, NULL), VALET_INVALID_ARGUMENT);
    CHECK(count_of(always) == 0);
    OK(valet_close(always));
    OK(valet_close(source));
    OK(valet_close(valet));
}

/* What the function below does with each pair. */
struct plan {
    int32_t answer;
    const char *key;
    const char *value;
    int32_t type;
    int calls;
    char copy[64];
};

static int32_t map(void *context, valet_pair *pair)
{
    struct plan *plan = context;
    plan->calls += 1;
    CHECK(pair->size == sizeof(valet_pair) && pair->key.type == VALET_VALUE_TEXT);
    CHECK(pair->key.name_length == 4 && memcmp(pair->key.name, "acct", 4) == 0);
    if (pair->key.value_length == 4 && memcmp(pair->key.value, "skip", 4) == 0)
        return VALET_PAIR_SKIP;
    if (plan->type != 0) pair->key.type = plan->type;
    if (plan->key != NULL) {
        pair->key.value = plan->key;
        pair->key.value_length = strlen(plan->key);
    } else {
        snprintf(plan->copy, sizeof(plan->copy), "new %.*s", (int)pair->key.value_length,
                 (const char *)pair->key.value);
        pair->key.value = plan->copy;
        pair->key.value_length = strlen(plan->copy);
    }
    if (plan->value != NULL) {
        pair->value = plan->value;
        pair->value_length = strlen(plan->value);
    }
    return plan->answer;
}

/* The program's function changes pairs, leaves some out, and can end the migration. */
void test_map(void)
{
    static const struct { struct plan plan; int32_t status, domain, code; } wrong[] = {
        {{VALET_PAIR_STOP, NULL, NULL, 0, 0, ""}, VALET_USER_CANCELED, VALET_ERROR_KEYCHAIN, 1},
        {{0, NULL, NULL, 0, 0, ""}, VALET_INVALID_ARGUMENT, VALET_ERROR_KEYCHAIN, 0},
        {{4, NULL, NULL, 0, 0, ""}, VALET_INVALID_ARGUMENT, VALET_ERROR_KEYCHAIN, 0},
        {{VALET_PAIR_KEEP, "", NULL, 0, 0, ""}, VALET_INVALID_ARGUMENT, VALET_ERROR_MIGRATION, 1},
        {{VALET_PAIR_KEEP, "\xff", NULL, 0, 0, ""}, VALET_INVALID_ARGUMENT,
         VALET_ERROR_KEYCHAIN, 0},
        {{VALET_PAIR_KEEP, NULL, NULL, VALET_VALUE_BYTES, 0, ""}, VALET_INVALID_ARGUMENT,
         VALET_ERROR_MIGRATION, 1},
        {{VALET_PAIR_KEEP, NULL, "", 0, 0, ""}, VALET_INVALID_ARGUMENT, VALET_ERROR_MIGRATION, 2},
        {{VALET_PAIR_KEEP, "same", NULL, 0, 0, ""}, VALET_DUPLICATE_ITEM, VALET_ERROR_MIGRATION, 3},
    };
    struct plan plan;
    valet_migration migration = VALET_INIT(valet_migration);
    valet_t source = valet_named("Source"), valet = valet_named("Destination");
    OK(valet_set(source, TEXT("a"), "1", 1, NULL));
    OK(valet_set(source, TEXT("b"), "2", 1, NULL));
    OK(valet_set(source, TEXT("skip"), "3", 1, NULL));
    migration.from = source;
    migration.map = map;
    migration.context = &plan;
    for (size_t index = 0; index < sizeof(wrong) / sizeof(wrong[0]); index += 1) {
        plan = wrong[index].plan;
        CHECK_STATUS(valet_migrate(valet, &migration, NULL), wrong[index].status);
        check_error(wrong[index].status, wrong[index].domain, wrong[index].code, "");
        CHECK(plan.calls > 0 && count_of(valet) == 0);
    }
    memset(&plan, 0, sizeof(plan));
    plan.answer = VALET_PAIR_KEEP;
    OK(valet_migrate(valet, &migration, NULL));
    CHECK(plan.calls == 3 && count_of(valet) == 2 && count_of(source) == 3);
    check_value(valet, "new a", "1", 1);
    check_value(valet, "new b", "2", 1);
    OK(valet_remove_all(valet, NULL));
    memset(&plan, 0, sizeof(plan));
    plan.answer = VALET_PAIR_KEEP;
    plan.value = "changed";
    migration.remove_on_completion = 1;
    OK(valet_migrate(valet, &migration, NULL));
    check_value(valet, "new a", "changed", 7);
    CHECK(count_of(source) == 1);
    check_value(source, "skip", "3", 1);
    OK(valet_close(source));
    OK(valet_close(valet));
}
