"""Public. The tables of a ledger on a server, and the triggers that keep every account to its rules."""

from __future__ import annotations

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE records (number bigint PRIMARY KEY, body text NOT NULL, hash text NOT NULL);
    CREATE TABLE head (one integer PRIMARY KEY CHECK (one = 1), count bigint NOT NULL, hash text NOT NULL);
    INSERT INTO head VALUES (1, 0, '');
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'a ledger only grows'; END $$;
    CREATE FUNCTION follow() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
      UPDATE head SET count = count + 1, hash = NEW.hash WHERE count = NEW.number;
      IF NOT FOUND THEN RAISE EXCEPTION 'a record follows the last one'; END IF;
      RETURN NEW; END $$;
    CREATE FUNCTION only_follow() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
      IF NEW.count <> OLD.count + 1
        OR NEW.hash IS DISTINCT FROM (SELECT hash FROM records WHERE number = OLD.count)
        THEN RAISE EXCEPTION 'the head only follows the records'; END IF;
      RETURN NEW; END $$;
    CREATE TRIGGER records_are_never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON records
      FOR EACH STATEMENT EXECUTE FUNCTION refuse();
    CREATE TRIGGER the_head_follows AFTER INSERT ON records FOR EACH ROW EXECUTE FUNCTION follow();
    CREATE TRIGGER the_head_stays BEFORE INSERT OR DELETE OR TRUNCATE ON head
      FOR EACH STATEMENT EXECUTE FUNCTION refuse();
    CREATE TRIGGER the_head_only_follows BEFORE UPDATE ON head FOR EACH ROW EXECUTE FUNCTION only_follow();
    """,
    # A session's own temporary tables come first unless pg_temp is named last: one called "head" would take the place of
    # ours. And a record that follows must be one that this program can read, or any account that may charge could stop
    # the ledger for all; escaped letters are of no interest here, and not every database can read them. A record with
    # fields that a later version adds comes with a later step.
    """
    CREATE OR REPLACE FUNCTION follow() RETURNS trigger LANGUAGE plpgsql
      SET search_path = pg_catalog, pg_temp AS $$ DECLARE last text; record jsonb; BEGIN
      SELECT head.hash INTO last FROM {schema}.head WHERE head.count = NEW.number FOR UPDATE;
      IF last IS NULL THEN RAISE EXCEPTION 'a record follows the last one'; END IF;
      IF NEW.hash IS DISTINCT FROM encode(sha256(convert_to(last || E'\\n' || NEW.body, 'UTF8')), 'hex')
        THEN RAISE EXCEPTION 'a record carries its hash'; END IF;
      IF length(NEW.body) > 1000000 OR length(NEW.body) - length(translate(NEW.body, '[{', '')) > 500
        THEN RAISE EXCEPTION 'a record is short'; END IF;
      record := regexp_replace(NEW.body, '\\\\(\\\\|u[0-9a-f]{4})', '?', 'g')::jsonb;
      IF record->>'index' IS DISTINCT FROM NEW.number::text OR NEW.number > 0 AND NOT coalesce(
        record ?& '{what,mechanism,epsilon_units,delta_units,parameters,assumptions,data,analyst,count,time}'
        AND record - '{what,mechanism,epsilon_units,delta_units,parameters,assumptions,data,analyst,count,time,index}'::text[]
          = '{}' AND jsonb_typeof(record->'parameters') = 'object'
        AND NOT EXISTS (SELECT FROM unnest('{what,mechanism,assumptions,data,analyst,time}'::text[]) AS name
          WHERE jsonb_typeof(record->name) <> 'string')
        AND NOT EXISTS (SELECT FROM unnest('{index,epsilon_units,delta_units,count}'::text[]) AS name
          WHERE jsonb_typeof(record->name) <> 'number' OR record->>name !~ '^[0-9]{1,21}$')
        AND (record->>'delta_units')::numeric <= 1e18 AND (record->>'count')::numeric > 0
        AND NOT EXISTS (SELECT FROM unnest('{rho,bound_epsilon}'::text[]) AS name
          WHERE length(record->'parameters'->>name) > 1300
          OR record->'parameters'->>name !~ '^[0-9]{1,30}([.][0-9]+)?([eE][-+]?[0-9]{1,2})?$'), false)
        THEN RAISE EXCEPTION 'a record says what was charged'; END IF;
      UPDATE {schema}.head SET count = NEW.number + 1, hash = NEW.hash;
      RETURN NEW; END $$;
    CREATE OR REPLACE FUNCTION only_follow() RETURNS trigger LANGUAGE plpgsql
      SET search_path = pg_catalog, pg_temp AS $$ BEGIN
      IF NEW.count <> OLD.count + 1
        OR NEW.hash IS DISTINCT FROM (SELECT records.hash FROM {schema}.records WHERE records.number = OLD.count)
        THEN RAISE EXCEPTION 'the head only follows the records'; END IF;
      RETURN NEW; END $$;
    """,
)
"""Statements that lead from one version of the schema to the next; a step that was released is never edited."""

WORKS_SINCE = 1
"""The oldest version of the schema that this program can use as it is, where the account may not bring it up to date."""
