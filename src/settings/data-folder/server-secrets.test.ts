import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { SetupError } from '../../errors.ts'
import { systemRandom } from '../../random.ts'
import { serverSecrets } from './server-secrets.ts'
import { loadSettings } from '../load-settings.ts'
import { SettingsError } from '../settings-error.ts'

let cwd = ''
let dataDir = ''
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'holdfast-first-'))
  dataDir = join(cwd, 'data')
})

async function start(env: Record<string, string> = {}) {
  return serverSecrets(await loadSettings({ env, cwd }), systemRandom)
}
const modeOf = (path: string): number => statSync(path).mode & 0o777
const keptText = (name: string): string => readFileSync(join(dataDir, name), 'utf8')

describe('the first start', () => {
  test.each([{}, { HOLDFAST_DATABASE_URL: 'sqlite::memory:' }])(
    'creates what is missing and shows it once (%o)',
    async (env) => {
      const first = await start(env)
      expect(first.unshown.map(({ label }) => label)).toEqual(['admin token', 'webhook secret'])
      expect(first.adminToken).toMatch(/^hfa_[\w-]{32}$/)
      expect(keptText('admin-token')).toBe(`${first.adminToken}\n`)
      expect(keptText('webhook-secret')).toBe(`${String(first.webhookSecrets[0])}\n`)

      await first.markShown()
      const { unshown, adminToken, webhookSecrets, adminTokenPath } = await start(env)
      expect(unshown).toEqual([])
      expect([adminToken, webhookSecrets]).toEqual([first.adminToken, first.webhookSecrets])
      expect(adminTokenPath).toBe(join(dataDir, 'admin-token'))
    },
  )

  test('that is refused before it showed the secrets leaves that to the next start', async () => {
    const refused = await start()
    const next = await start()
    expect(next.unshown).toEqual(refused.unshown)
    await next.markShown()
    await next.markShown()
    expect((await start()).unshown).toEqual([])
  })

  test('that crashed before it created the secrets leaves that to the next start', async () => {
    mkdirSync(dataDir, { mode: 0o700 })
    writeFileSync(join(dataDir, '.admin-token.not-shown'), '')
    const { unshown } = await start()
    expect(unshown.map(({ label }) => label)).toEqual(['admin token', 'webhook secret'])
  })

  test('protects folder and files for their owner and leaves no draft', async () => {
    await (await start()).markShown()
    expect(modeOf(dataDir)).toBe(0o700)
    expect(modeOf(join(dataDir, 'admin-token'))).toBe(0o600)
    expect(modeOf(join(dataDir, 'webhook-secret'))).toBe(0o600)
    expect(readdirSync(dataDir).sort()).toEqual(['admin-token', 'webhook-secret'])
  })

  test('creates nothing that was given', async () => {
    const webhookSecrets = ['one-webhook-secret', 'another-webhook-secret']
    const env = {
      HOLDFAST_ADMIN_TOKEN: 'given-admin-token',
      GITHUB_WEBHOOK_SECRET: webhookSecrets.join(','),
    }
    expect(await start(env)).toMatchObject({
      adminToken: 'given-admin-token',
      adminTokenPath: null,
      webhookSecrets,
      unshown: [],
      warnings: [],
    })
    expect(readdirSync(dataDir)).toEqual([])
  })

  test('of many processes at once has one winner, and all use its secrets', async () => {
    const starts = await Promise.all(Array.from({ length: 20 }, () => start()))
    expect(new Set(starts.map(({ adminToken }) => adminToken)).size).toBe(1)
    expect(new Set(starts.map(({ webhookSecrets }) => webhookSecrets[0])).size).toBe(1)
    expect(new Set(starts.flatMap(({ unshown }) => unshown.map(({ value }) => value))).size).toBe(2)
    await Promise.all(starts.map((secrets) => secrets.markShown()))
    expect(readdirSync(dataDir).sort()).toEqual(['admin-token', 'webhook-secret'])
  })

  test('on PostgreSQL needs a given admin token', async () => {
    const env = { HOLDFAST_DATABASE_URL: 'postgres://db/x' }
    await expect(start(env)).rejects.toThrow(SettingsError)
    await expect(start(env)).rejects.toThrow('HOLDFAST_ADMIN_TOKEN is required with PostgreSQL')
    await expect(start(env)).rejects.toMatchObject({ hint: expect.stringContaining('openssl') })
    const both = { ...env, GITHUB_WEBHOOK_SECRET: 'short' }
    await expect(start(both)).rejects.toMatchObject({ problems: { length: 2 } })
    const secrets = {
      HOLDFAST_ADMIN_TOKEN: 'a'.repeat(16),
      GITHUB_WEBHOOK_SECRET: 'b'.repeat(16),
    }
    const given = await start({ ...env, ...secrets })
    expect(given.unshown).toEqual([])
    expect(readdirSync(cwd)).toEqual([])
  })

  test('on PostgreSQL after a move, names the file of the admin token', async () => {
    const env = { HOLDFAST_DATABASE_URL: 'postgres://db/x' }
    mkdirSync(dataDir, { mode: 0o700, recursive: true })
    writeFileSync(join(dataDir, 'admin-token'), 'secret', { mode: 0o600 })
    await expect(start(env)).rejects.toMatchObject({
      hint: expect.stringContaining(`HOLDFAST_ADMIN_TOKEN_FILE=${join(dataDir, 'admin-token')}`),
    })
  })
})

describe('the files of an earlier start', () => {
  test('a draft of a crashed start is removed', async () => {
    await (await start()).markShown()
    writeFileSync(join(dataDir, '.admin-token.draft-abc'), 'half')
    await start()
    expect(readdirSync(dataDir).sort()).toEqual(['admin-token', 'webhook-secret'])
  })

  test('a draft alone does not count as the secret', async () => {
    mkdirSync(dataDir, { mode: 0o700 })
    writeFileSync(join(dataDir, '.admin-token.draft-abc'), 'half')
    expect((await start()).adminToken).toMatch(/^hfa_/)
  })

  test.each(['', '\n'])('a file with %j is refused with the remedy', async (text) => {
    mkdirSync(dataDir, { mode: 0o700 })
    writeFileSync(join(dataDir, 'admin-token'), text, { mode: 0o600 })
    const error: unknown = await start().catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(SetupError)
    expect((error as SetupError).message).toContain('admin-token is empty')
    expect((error as SetupError).hint).toContain('Delete it: then a new secret is made')
    expect(keptText('admin-token')).toBe(text)
  })

  test('a file that others can read is closed to them, with a warning', async () => {
    const { adminToken } = await start()
    chmodSync(join(dataDir, 'admin-token'), 0o644)
    const { warnings } = await start()
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain('admin-token had mode 0644')
    expect(warnings[0]).not.toContain(adminToken)
    expect(modeOf(join(dataDir, 'admin-token'))).toBe(0o600)
  })

  test('a folder in the place of the file is refused with the remedy', async () => {
    mkdirSync(join(dataDir, 'admin-token'), { recursive: true, mode: 0o700 })
    const error: unknown = await start().catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(SetupError)
    expect((error as SetupError).hint).toContain('HOLDFAST_ADMIN_TOKEN')
  })

  test('a file in the place of the folder is refused with the remedy', async () => {
    writeFileSync(dataDir, '')
    const error: unknown = await start().catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(SetupError)
    expect((error as SetupError).message).toContain(`Could not make the data folder ${dataDir}`)
    expect((error as SetupError).hint).toContain('HOLDFAST_DATA_DIR')
  })

  test.each([0o750, 0o705, 0o777])(
    'a folder of mode %o is refused with the remedy',
    async (mode) => {
      mkdirSync(dataDir)
      chmodSync(dataDir, mode)
      const error: unknown = await start().catch((reason: unknown) => reason)
      expect(error).toMatchObject({ code: 'data_folder_open' })
      expect((error as SetupError).hint).toContain(`chmod 700 ${dataDir}`)
      expect(readdirSync(dataDir)).toEqual([])
      chmodSync(dataDir, 0o700)
      expect((await start()).warnings).toEqual([])
    },
  )

  test('a folder that other users share is refused, but it keeps its mode', async () => {
    mkdirSync(dataDir)
    chmodSync(dataDir, 0o1777)
    const error = (await start().catch((reason: unknown) => reason)) as SetupError
    expect(error.message).toContain(`The data folder ${dataDir} has mode 1777`)
    expect(error.hint).toBe(
      `Other users share ${dataDir}. Put the data in a folder of its own: HOLDFAST_DATA_DIR=PATH`,
    )
  })

  test.each(['HOLDFAST_ADMIN_TOKEN', 'GITHUB_WEBHOOK_SECRET'])(
    'a short %s is refused by its name, not its value',
    async (name) => {
      const short = 'hunter2-hunter2'
      const error: unknown = await start({ [name]: short }).catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(SettingsError)
      expect((error as SettingsError).message).toContain(`${name} is shorter than 16 characters`)
      expect((error as SettingsError).message).not.toContain(short)
      await start({ [name]: `${short}-` })
    },
  )

  test.each(['admin-token', 'webhook-secret'])(
    'a link in place of %s is not followed',
    async (name) => {
      mkdirSync(dataDir, { mode: 0o700 })
      const elsewhere = join(cwd, 'elsewhere')
      writeFileSync(elsewhere, 'planted-by-somebody', { mode: 0o644 })
      symlinkSync(elsewhere, join(dataDir, name))
      const error: unknown = await start().catch((reason: unknown) => reason)
      expect((error as SetupError).message).toContain('is a symbolic link')
      expect(modeOf(elsewhere)).toBe(0o644)
    },
  )

  test('a link in place of the mark file empties no other file', async () => {
    mkdirSync(dataDir, { mode: 0o700 })
    const elsewhere = join(cwd, 'elsewhere')
    writeFileSync(elsewhere, 'important')
    symlinkSync(elsewhere, join(dataDir, '.admin-token.not-shown'))
    await expect(start()).rejects.toThrow(SetupError)
    expect(readFileSync(elsewhere, 'utf8')).toBe('important')
  })
})

describe('a database file', () => {
  const refusalOf = async (path: string): Promise<SetupError> => {
    const env = { HOLDFAST_DATABASE_URL: `sqlite:${path}` }
    return (await start(env).catch((reason: unknown) => reason)) as SetupError
  }

  test.each(['', '-wal', '.lock'])(
    'outside the data folder with a %s file that others can open is refused',
    async (suffix) => {
      const file = join(cwd, 'x.db')
      writeFileSync(file + suffix, '')
      for (const mode of [0o640, 0o604, 0o602]) {
        chmodSync(file + suffix, mode)
        const refusal = await refusalOf(file)
        expect(refusal).toMatchObject({ code: 'database_file' })
        expect(refusal.hint).toContain(`chmod 600 ${file}${suffix}`)
      }
      chmodSync(file + suffix, 0o600)
      expect((await refusalOf(file)).code).toBeUndefined()
    },
  )

  test('that is a folder is refused, and nobody is told to change its mode', async () => {
    const folder = join(cwd, 'etc')
    mkdirSync(folder)
    chmodSync(folder, 0o755)
    const refusal = await refusalOf(folder)
    expect(refusal.message).toContain(`${folder} is a folder, not the file of a database`)
    expect(refusal.hint).toBe(`Name a file: HOLDFAST_DATABASE_URL=sqlite:${folder}/holdfast.db`)
  })

  test('in a folder that others can write into is refused, but not one they can read', async () => {
    const folder = join(cwd, 'shared')
    mkdirSync(folder)
    for (const mode of [0o770, 0o707]) {
      chmodSync(folder, mode)
      const refusal = await refusalOf(join(folder, 'x.db'))
      expect(refusal).toMatchObject({ code: 'database_file' })
      expect(refusal.hint).toContain(`chmod go-w ${folder}`)
    }
    chmodSync(folder, 0o755)
    expect((await refusalOf(join(folder, 'x.db'))).code).toBeUndefined()
  })

  test('in a folder that other users share is refused, but the folder keeps its mode', async () => {
    const folder = join(cwd, 'tmp')
    mkdirSync(folder)
    chmodSync(folder, 0o1777)
    const refusal = await refusalOf(join(folder, 'x.db'))
    expect(refusal.message).toContain(`${folder}, has mode 1777, so`)
    expect(refusal.hint).toBe(
      `Other users share ${folder}. Put the database in a folder of its own: ` +
        'HOLDFAST_DATABASE_URL=sqlite:PATH',
    )
  })

  test.each(['', '-wal', '.lock'])('with a link as its %s file is refused', async (suffix) => {
    mkdirSync(dataDir, { mode: 0o700 })
    const elsewhere = join(cwd, 'elsewhere')
    for (const file of [join(cwd, 'x.db'), join(dataDir, 'holdfast.db')]) {
      symlinkSync(elsewhere, file + suffix)
      const refusal = await refusalOf(file)
      expect(refusal.message).toContain('is a symbolic link')
      expect(existsSync(elsewhere)).toBe(false)
    }
  })
})

describe('a folder that does not exist', () => {
  test.each([
    [{ HOLDFAST_DATA_DIR: '/proc/holdfast/data' }, 'the data folder /proc/holdfast/data'],
    [
      { HOLDFAST_DATABASE_URL: 'sqlite:/proc/holdfast/x.db' },
      'the folder of the database, /proc/holdfast',
    ],
  ])('is refused at once, also if Node itself would try forever (%o)', async (env, named) => {
    if (process.platform !== 'linux') return
    await expect(start(env)).rejects.toThrow(`Could not make ${named}`)
  })

  test('is created with its parents, for the owner only', async () => {
    await start({ HOLDFAST_DATABASE_URL: 'sqlite:a/b/x.db' })
    expect([modeOf(join(cwd, 'a')), modeOf(join(cwd, 'a', 'b'))]).toEqual([0o700, 0o700])
  })
})
