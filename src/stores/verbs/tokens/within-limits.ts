/** The limits of a token as an SQL condition: the same rules as `domain/token-limits`. */
import type { TokenLimits } from '../../../domain/token-limits.ts'
import { isNameStart, startOfNames } from '../../../domain/token-limits.ts'
import type { Sql } from '../../sql.ts'
import { join, raw, sql } from '../../sql.ts'

/** Sorts after every character of a repository's name. */
const afterNames = '~'

/** `repositoryId` is the column that has our id of the repository. */
export function inRepositories({ repositories }: TokenLimits, repositoryId: Sql): Sql {
  if (repositories === null) return raw('1 = 1')
  const fits = repositories.map(({ pattern, repositoryId: id }) => {
    if (!isNameStart(pattern)) return sql`repository.id = ${id ?? ''}`
    const start = startOfNames(pattern)
    return sql`(repository.name >= ${start} AND repository.name < ${start + afterNames})`
  })
  // Checked row by row: an owner may have thousands of repositories but few matching rows.
  return sql`EXISTS (SELECT 1 FROM repository
    WHERE repository.id = ${repositoryId} AND (${join(fits, ' OR ')}))`
}

export function ofTypes({ types }: TokenLimits, type: Sql): Sql {
  return types === null ? raw('1 = 1') : sql`${type} IN (${join(types)})`
}
