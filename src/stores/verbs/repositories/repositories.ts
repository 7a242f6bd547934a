/**
 * What an event teaches about a repository: its numeric id, which outlives every rename.
 *
 *   name known, id unknown            the id is filled in
 *   id known, name new                a rename: one more name for the same repository
 *   name known under another id       the name was reused: it now means the other repository
 *   both known, as two rows           claims by a new name came before the rename was heard of:
 *                                     they are one repository, and its subjects are moved together
 *   older than what is known          nothing; a new id has a row, which the name does not mean
 *
 * A caller may be wrong, and take the id of a fork for it. What only a caller says is learnt where
 * GitHub said nothing and nobody claims by the name alone, and it is noted (`told_name`) for
 * whoever wants to write there. It joins no two repositories, changes nothing that GitHub said, and
 * gives way to whatever GitHub says, however old that is.
 */
import type { AuditDraft } from '../../../domain/audit.ts'
import type {
  HeardAt,
  NameHolder,
  NameLesson,
  NameKnowledge,
} from '../../../domain/repository-names.ts'
import { learnName } from '../../../domain/repository-names.ts'
import { LostRace } from '../../driver.ts'
import type { Verb } from '../../sql.ts'
import { insertAudits } from '../../tables/audit-table.ts'
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

export interface Lesson {
  readonly name: string
  readonly githubId: number
  readonly at: HeardAt
  /** Who says so. */
  readonly actor: string
  /** A caller says so, and not GitHub. */
  readonly isUnverified: boolean
}

/** Hearing the same name again is written down no more often than that. */
const heardEveryMs = 60_000

/** Nearly always so, and asked without a lock. */
export function* isLearnt(context: VerbContext, lesson: Lesson): Verb<boolean> {
  const { name, githubId, at, isUnverified: isUnverified } = lesson
  const known = yield* repositoryByName(name)
  if (known?.githubId !== githubId) return false
  const wasUnverified = yield* isUnverifiedName(known.id, name)
  if (wasUnverified !== isUnverified) return isUnverified
  if (at === null) return true
  if (known.namedAt === null) return false
  if (known.name !== name) return at !== 'now' && at < known.namedAt
  return (at === 'now' ? context.now() : at) < known.namedAt + heardEveryMs
}

/** By GitHub's word alone. */
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

/** It has the name, or had it: then it may still be claimed by it, late, and its id is right. */
function* wasCalled(own: Repository, name: string, holder: Repository | null): Verb<boolean> {
  if (yield* isUnverifiedName(own.id, name)) return false
  return holder?.id === own.id || own.name === name || (yield* hasRunsNamed(own.id, name))
}

/** Answers whether it was learnt (`known`), or what keeps a caller's word from being learnt. */
export function* learnRepository(context: VerbContext, lesson: Lesson): Verb<NameKnowledge> {
  const { name, githubId, isUnverified: isUnverified } = lesson
  const locked = yield* lockName(name)
  const own = yield* lockRepository(githubId)
  const holder = yield* repositoryByName(name)
  // Made between the two statements: when it was heard is not known here, so all is read again.
  if (locked === null && holder !== null) throw new LostRace('the name was told of meanwhile')
  if (isUnverified) {
    const knowledge = yield* knowledgeOf(name, holder, own)
    if (knowledge !== 'open' || !(yield* mayLearnUnverified(holder, own))) return knowledge
  }
  const heardAt = locked?.heardAt ?? null
  const before = yield* knownBefore(lesson, holder && { ...holder, heardAt }, own)
  const learnt = learnName(lesson, before.holder, before.own)
  const at =
    lesson.at === 'now' ? Math.max(context.now(), heardAt ?? 0, own?.namedAt ?? 0) : lesson.at
  const namedAt = at ?? before.own?.namedAt ?? null
  const meant = yield* apply(context, lesson, { learnt, at, namedAt, own, holder })
  if (isUnverified) {
    yield* noteUnverifiedName(meant.id, name)
    return 'known'
  }
  yield* verifyName(meant.id, name)
  // Also where nothing is claimed: what happens there next may be lost, and catch-up looks.
  yield* noteUse([meant.id], context.now())
  return 'known'
}

/** Not what GitHub calls otherwise, and not for those who claim by the name alone. */
function* mayLearnUnverified(holder: Repository | null, own: Repository | null): Verb<boolean> {
  if (holder !== null && holder.githubId === null) return false
  return own === null || (yield* isUnverifiedName(own.id, own.name))
}

/** What a lesson has to be newer than: for GitHub's, that is only what GitHub said. */
function* knownBefore(
  { name, isUnverified: isUnverified }: Lesson,
  holder: (Repository & NameHolder) | null,
  own: Repository | null,
): Verb<{ readonly holder: NameHolder | null; readonly own: Repository | null }> {
  if (isUnverified) return { holder, own }
  const isHeldByWord = holder !== null && (yield* isUnverifiedName(holder.id, name))
  const isNamedByWord = own !== null && (yield* isUnverifiedName(own.id, own.name))
  return { holder: isHeldByWord ? null : holder, own: isNamedByWord ? null : own }
}

interface Known {
  readonly learnt: NameLesson
  readonly at: number | null
  /** When it was last heard under the name it gets. */
  readonly namedAt: number | null
  readonly own: Repository | null
  readonly holder: Repository | null
}

/** Answers the repository that the lesson is about, which the name does not always mean. */
function* apply(
  context: VerbContext,
  lesson: Lesson,
  { learnt, at, namedAt, own, holder }: Known,
): Verb<Repository> {
  const { name } = lesson
  if (learnt === 'nothing') return own ?? (yield* makeNew(context, lesson, at, null))
  const byNameAlone = holder !== null && holder.githubId === null ? holder : null
  if (own === null) {
    const made =
      byNameAlone === null
        ? yield* makeNew(context, lesson, at, holder)
        : yield* identify(context, lesson, byNameAlone)
    yield* giveName(name, made.id, at, holder)
    yield* setName(made.id, name, at)
    return made
  }
  yield* giveName(name, own.id, at, holder)
  if (learnt === 'current') {
    yield* setName(own.id, name, namedAt)
    const data = { repository: own.id, from: own.name, to: name }
    if (own.name !== name) yield* writeAudit(context, lesson, 'repository.renamed', data)
  }
  if (byNameAlone !== null) yield* mergeSubjects(context, byNameAlone, own, lesson.actor)
  return own
}

/** The old owner of its name, if there is one, keeps its subjects. */
function* makeNew(
  context: VerbContext,
  lesson: Lesson,
  namedAt: number | null,
  takenFrom: Repository | null,
): Verb<Repository> {
  const { name, githubId } = lesson
  const made = { id: context.newId('rep'), name, githubId, namedAt }
  yield* insertRepository(made, context.now())
  const taken = takenFrom !== null && { taken_from: takenFrom.id }
  const data = { name, github_id: githubId, ...taken }
  yield* writeAudit(context, lesson, 'repository.identified', data)
  return made
}

function* identify(context: VerbContext, lesson: Lesson, known: Repository): Verb<Repository> {
  const { name, githubId } = lesson
  yield* fillInGithubId(known.id, githubId)
  yield* writeAudit(context, lesson, 'repository.identified', { name, github_id: githubId })
  return known
}

function* writeAudit(
  context: VerbContext,
  { actor }: Lesson,
  type: 'repository.identified' | 'repository.renamed',
  data: AuditDraft['data'],
): Verb<void> {
  yield* insertAudits([{ type, actor, runId: null, data }], context.now())
}
