/**
 * Stores what an event says about a repository: its numeric id, which stays through every rename.
 *
 *   name known, id unknown            the id is filled in
 *   id known, name new                a rename: one more name for the same repository
 *   name known under another id       the name was reused: it now means the other repository
 *   both known, as two rows           claims by a new name came before we knew of the rename: they
 *                                     are one repository, and their subjects are merged
 *   older than what is known          nothing; a new id gets a row, but not the name
 *
 * A caller may be wrong and send the id of a fork. So what only a caller says is unverified: it is
 * stored only if GitHub said nothing and nobody claims by the name alone, and it is marked
 * (`told_name`) so that GitHub is asked before the first write. It merges nothing, changes nothing
 * that GitHub said, and gives way to anything GitHub says, however old.
 */
import type { AuditDraft } from '../../../domain/audit.ts'
import type {
  HeardAt,
  NameHolder,
  NameUpdate,
  NameKnowledge,
} from '../../../domain/repository-names.ts'
import { learnName } from '../../../domain/repository-names.ts'
import { LostRace } from '../../driver.ts'
import type { Verb } from '../../sql.ts'
import { insertAudit } from '../../tables/audit-table.ts'
import type { Repository } from '../../tables/repository-table.ts'
import {
  fillInGithubId,
  giveName,
  hasRunsNamed,
  insertRepository,
  isUnverifiedName,
  lockName,
  lockRepository,
  noteUnverifiedName,
  noteUse,
  repositoryByGithubId,
  repositoryByName,
  setName,
  verifyName,
} from '../../tables/repository-table.ts'
import type { VerbContext } from '../context.ts'
import { mergeSubjects } from './merge-subjects.ts'

export interface RepositoryFact {
  readonly name: string
  readonly githubId: number
  readonly at: HeardAt
  /** Who says so. */
  readonly actor: string
  /** Only a caller says so, not GitHub. */
  readonly isUnverified: boolean
}

/** The same name is stored again at most this often. */
const heardEveryMs = 60_000

/** Whether nothing new has to be stored: nearly always true, and checked without a lock. */
export function* isLearnt(context: VerbContext, fact: RepositoryFact): Verb<boolean> {
  const { name, githubId, at, isUnverified } = fact
  const known = yield* repositoryByName(name)
  if (known?.githubId !== githubId) return false
  const wasUnverified = yield* isUnverifiedName(known.id, name)
  if (wasUnverified !== isUnverified) return isUnverified
  if (at === null) return true
  if (known.namedAt === null) return false
  if (known.name !== name) return at !== 'now' && at < known.namedAt
  return (at === 'now' ? context.now() : at) < known.namedAt + heardEveryMs
}

/** By what GitHub said, not by callers. */
export function* nameKnowledge(name: string, githubId: number): Verb<NameKnowledge> {
  const holder = yield* repositoryByName(name)
  const own = holder?.githubId === githubId ? holder : yield* repositoryByGithubId(githubId)
  return yield* knowledgeOf(name, holder, own)
}

function* knowledgeOf(
  name: string,
  holder: Repository | null,
  own: Repository | null,
): Verb<NameKnowledge> {
  if (own !== null && (yield* wasCalled(own, name, holder))) return 'known'
  if (holder === null || holder.githubId === null || holder.id === own?.id) return 'open'
  return (yield* isUnverifiedName(holder.id, name)) ? 'open' : { anothers: holder.githubId }
}

/** It has or had the name: then a late claim by this name is right about the id. */
function* wasCalled(own: Repository, name: string, holder: Repository | null): Verb<boolean> {
  if (yield* isUnverifiedName(own.id, name)) return false
  return holder?.id === own.id || own.name === name || (yield* hasRunsNamed(own.id, name))
}

/** Answers `known` when it was stored, or why an unverified id was not stored. */
export function* learnRepository(context: VerbContext, fact: RepositoryFact): Verb<NameKnowledge> {
  const { name, githubId, isUnverified } = fact
  const locked = yield* lockName(name)
  const own = yield* lockRepository(githubId)
  const holder = yield* repositoryByName(name)
  // The row was made between our two statements, so everything is read again.
  if (locked === null && holder !== null) throw new LostRace('the name was stored meanwhile')
  if (isUnverified) {
    const knowledge = yield* knowledgeOf(name, holder, own)
    if (knowledge !== 'open' || !(yield* mayLearnUnverified(holder, own))) return knowledge
  }
  const heardAt = locked?.heardAt ?? null
  const before = yield* knownBefore(fact, holder && { ...holder, heardAt }, own)
  const update = learnName(fact, before.holder, before.own)
  const at = fact.at === 'now' ? Math.max(context.now(), heardAt ?? 0, own?.namedAt ?? 0) : fact.at
  const namedAt = at ?? before.own?.namedAt ?? null
  const repository = yield* apply(context, fact, { update, at, namedAt, own, holder })
  if (isUnverified) {
    yield* noteUnverifiedName(repository.id, name)
    return 'known'
  }
  yield* verifyName(repository.id, name)
  // Even without a claim: the next webhook may be lost, and catch-up must check this repository.
  yield* noteUse([repository.id], context.now())
  return 'known'
}

/** Not if GitHub gave the repository another name, or if somebody claims by the name alone. */
function* mayLearnUnverified(holder: Repository | null, own: Repository | null): Verb<boolean> {
  if (holder !== null && holder.githubId === null) return false
  return own === null || (yield* isUnverifiedName(own.id, own.name))
}

/**
 * What the fact must be newer than. A fact from GitHub need not be newer than what only callers
 * said.
 */
function* knownBefore(
  { name, isUnverified }: RepositoryFact,
  holder: (Repository & NameHolder) | null,
  own: Repository | null,
): Verb<{ readonly holder: NameHolder | null; readonly own: Repository | null }> {
  if (isUnverified) return { holder, own }
  const isHolderUnverified = holder !== null && (yield* isUnverifiedName(holder.id, name))
  const isOwnUnverified = own !== null && (yield* isUnverifiedName(own.id, own.name))
  return { holder: isHolderUnverified ? null : holder, own: isOwnUnverified ? null : own }
}

interface NameChange {
  readonly update: NameUpdate
  readonly at: number | null
  /** When GitHub last used the new name. */
  readonly namedAt: number | null
  readonly own: Repository | null
  readonly holder: Repository | null
}

/** Returns the repository that the fact is about. The name may still lead to another one. */
function* apply(
  context: VerbContext,
  fact: RepositoryFact,
  { update, at, namedAt, own, holder }: NameChange,
): Verb<Repository> {
  const { name } = fact
  if (update === 'nothing') return own ?? (yield* makeNew(context, fact, at, null))
  const byNameAlone = holder !== null && holder.githubId === null ? holder : null
  if (own === null) {
    const made =
      byNameAlone === null
        ? yield* makeNew(context, fact, at, holder)
        : yield* identify(context, fact, byNameAlone)
    yield* giveName(name, made.id, at, holder)
    yield* setName(made.id, name, at)
    return made
  }
  yield* giveName(name, own.id, at, holder)
  let renamedId: number | null = null
  if (update === 'current') {
    yield* setName(own.id, name, namedAt)
    const data = { repository: own.id, from: own.name, to: name }
    if (own.name !== name) renamedId = yield* writeAudit(context, fact, 'repository.renamed', data)
  }
  if (byNameAlone !== null) {
    yield* mergeSubjects(context, byNameAlone, own, fact.actor, renamedId)
  }
  return own
}

/** A repository that had the name before keeps its subjects. */
function* makeNew(
  context: VerbContext,
  fact: RepositoryFact,
  namedAt: number | null,
  takenFrom: Repository | null,
): Verb<Repository> {
  const { name, githubId } = fact
  const made = { id: context.newId('rep'), name, githubId, namedAt }
  yield* insertRepository(made, context.now())
  const taken = takenFrom !== null && { taken_from: takenFrom.id }
  const data = { name, github_id: githubId, ...taken }
  yield* writeAudit(context, fact, 'repository.identified', data)
  return made
}

function* identify(
  context: VerbContext,
  fact: RepositoryFact,
  known: Repository,
): Verb<Repository> {
  const { name, githubId } = fact
  yield* fillInGithubId(known.id, githubId)
  yield* writeAudit(context, fact, 'repository.identified', { name, github_id: githubId })
  return known
}

function* writeAudit(
  context: VerbContext,
  { actor }: RepositoryFact,
  type: 'repository.identified' | 'repository.renamed',
  data: AuditDraft['data'],
): Verb<number> {
  return yield* insertAudit({ type, actor, runId: null, data }, null, context.now())
}
