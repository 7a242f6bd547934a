/**
 * Goal: comments and pages name only files that exist.
 * Method: both rules are first shown failing on a made-up text, then run over the repository.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { commentsNameFiles, pagesNameFiles } from './named-files.ts'
import { readSources, repository, sourceOf } from './source.ts'

describe('a rule', () => {
  const files = ['src/domain/claim.ts', 'src/domain/outbox/revise.ts', 'test/chaos/storm.test.ts']

  it('finds a missing file in a comment, and does not look at code', () => {
    const text = "// See claim.ts and gone.ts, not *.ts.\nimport './gone.ts'\n"
    expect(commentsNameFiles(files)(sourceOf('src/a.ts', text))).toEqual([
      'src/a.ts:1 there is no file gone.ts; name the one it has become',
    ])
  })

  it('finds a missing path on a page, by the folders of src and test', () => {
    const text = 'In `domain/claim`, `src/domain/outbox/revise`, `test/chaos/storm`, /v1/chaos/x.\n'
    const rule = pagesNameFiles(files)
    expect(rule({ path: 'A.md', text })).toEqual([])
    expect(rule({ path: 'A.md', text: 'It is\nin domain/outbox/gone.' })).toEqual([
      'A.md:2 there is no file domain/outbox/gone; name the one it has become',
    ])
  })
})

describe('the repository', () => {
  const sources = readSources(['src', 'test', 'bench', 'scripts', 'bin', 'examples'])
  const paths = sources.map(({ path }) => path)
  const others = [...readdirSync(repository), ...readdirSync(join(repository, 'sql/sqlite'))]

  it('names only files that exist in comments', () => {
    expect(paths).toContain('src/clock.ts')
    expect(sources.flatMap(commentsNameFiles([...paths, ...others]))).toEqual([])
  })

  it('names only files that exist on its pages', () => {
    const pages = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md']
    const texts = pages.map((path) => ({
      path,
      text: readFileSync(join(repository, path), 'utf8'),
    }))
    expect(texts.flatMap(pagesNameFiles(paths))).toEqual([])
  })
})
